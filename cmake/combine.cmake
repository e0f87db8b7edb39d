# SPDX-License-Identifier: Apache-2.0
# Sources of a target, each named once. With ROTARY_COMBINE those of a group are compiled as one:
# what they include is then parsed and instantiated once, which is most of what they cost. Names in
# the unnamed namespaces of a group must differ.
#
# rotary_sources(<target> [COLD] [GROUP <name>] <source>...)
#   Without a group each is compiled on its own: what clashes, or is long. So is all with
#   ROTARY_FUZZ, which gives options to single files. COLD: no call for each token enters these
#   sources, and a release compiles them as ROTARY_COLD says.
option(ROTARY_COMBINE "Compile groups of sources as one" ON)

function(rotary_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 sources "COLD" "GROUP" "")
  set(files ${sources_UNPARSED_ARGUMENTS})
  if(sources_GROUP AND ROTARY_COMBINE AND NOT ROTARY_FUZZ)
    # A file of ours, not CMake's UNITY_BUILD, whose absolute paths differ in each checkout: then a
    # compiler cache finds nothing.
    set(group "${CMAKE_CURRENT_BINARY_DIR}/${target}.${sources_GROUP}.cpp")
    set(includes "")
    foreach(file IN LISTS files)
      file(REAL_PATH "${file}" path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
      file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
      string(APPEND includes "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT "${group}" CONTENT "${includes}")
    set(files "${group}")
    set_property(SOURCE "${group}" APPEND PROPERTY INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}")
    # A local name of one source may be a global one of another.
    set_property(SOURCE "${group}" APPEND PROPERTY COMPILE_OPTIONS -Wno-shadow)
  endif()
  target_sources(${target} PRIVATE ${files})
  if(sources_COLD)
    set_property(SOURCE ${files} APPEND PROPERTY
      COMPILE_OPTIONS "$<$<CONFIG:Release>:${ROTARY_COLD}>")
    if(ROTARY_COLD STREQUAL -Os)
      # g++ takes no precompiled header of another level.
      set_property(SOURCE ${files} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endif()
endfunction()
