# SPDX-License-Identifier: Apache-2.0
# Sources of a target, each named once. With ROTARY_COMBINE those of a group are compiled as one:
# what they include is then parsed once, which is most of what they cost. Names in the unnamed
# namespaces of a group must differ, and be no local ones of the others.
#
# rotary_sources(<target> [BEYOND_CORE] [GROUP <name>] <source>...)
#   Without a group each is compiled on its own: what clashes, or is long. ROTARY_CORE_ONLY leaves
#   out what is BEYOND_CORE.
option(ROTARY_COMBINE "Compile groups of sources as one" ON)

function(rotary_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 sources "BEYOND_CORE" "GROUP" "")
  if(ROTARY_CORE_ONLY AND sources_BEYOND_CORE)
    return()
  endif()
  target_sources(${target} PRIVATE ${sources_UNPARSED_ARGUMENTS})
  if(sources_GROUP)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ${ROTARY_COMBINE}
      UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${sources_UNPARSED_ARGUMENTS} PROPERTIES
      UNITY_GROUP ${sources_GROUP})
  endif()
endfunction()
