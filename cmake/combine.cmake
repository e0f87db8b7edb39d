# SPDX-License-Identifier: Apache-2.0
# Adds sources to a target. With ROTARY_COMBINE a group is compiled as one file, because parsing
# headers is most of the cost. Names in unnamed namespaces of a group must differ.
#
# rotary_sources(<target> [COLD] [GROUP <name>] <source or folder/>...)
#   A folder stands for its .cpp files. A source without a group is compiled alone, because its
#   names clash or it is long. ROTARY_FUZZ compiles every source alone, since fuzz/ sets options of
#   single files.
#   COLD: code that does not run for each token. A release compiles it with ROTARY_COLD.
option(ROTARY_COMBINE "Compile groups of sources as one" ON)

function(rotary_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 sources "COLD" "GROUP" "")
  set(files "")
  foreach(source IN LISTS sources_UNPARSED_ARGUMENTS)
    if(source MATCHES "/$")
      file(GLOB source RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${source}*.cpp")
    endif()
    list(APPEND files ${source})
  endforeach()
  if(sources_GROUP AND ROTARY_COMBINE AND NOT ROTARY_FUZZ)
    # Not CMake's UNITY_BUILD: its absolute paths defeat a compiler cache across checkouts.
    set(group "${CMAKE_CURRENT_BINARY_DIR}/${target}.${sources_GROUP}.cpp")
    set(includes "")
    foreach(file IN LISTS files)
      file(REAL_PATH "${file}" path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
      file(RELATIVE_PATH path "${rotary_repository}" "${path}")
      string(APPEND includes "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT "${group}" CONTENT "${includes}")
    set(files "${group}")
    set_property(SOURCE "${group}" APPEND PROPERTY INCLUDE_DIRECTORIES "${rotary_repository}")
    # A local name in one source may shadow a global one in another.
    set_property(SOURCE "${group}" APPEND PROPERTY COMPILE_OPTIONS -Wno-shadow)
  endif()
  target_sources(${target} PRIVATE ${files})
  if(sources_COLD)
    set_property(SOURCE ${files} APPEND PROPERTY
      COMPILE_OPTIONS "$<$<CONFIG:Release>:${ROTARY_COLD}>")
    if(ROTARY_COLD STREQUAL -Os)
      # g++ refuses a precompiled header of another optimization level.
      set_property(SOURCE ${files} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endif()
endfunction()
