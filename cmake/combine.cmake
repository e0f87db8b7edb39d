# SPDX-License-Identifier: Apache-2.0
# rotary_combine(<target> <group> <source>...): with ROTARY_COMBINE, sources of the target that are
# compiled as one. What they include is then parsed once, which is most of what they cost. Names in
# their unnamed namespaces must differ, and be no local ones of the others: what clashes stays out.
option(ROTARY_COMBINE "Compile groups of sources as one: for builds of everything" OFF)

function(rotary_combine target group)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${ROTARY_COMBINE}
    UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
endfunction()
