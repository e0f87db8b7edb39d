# SPDX-License-Identifier: Apache-2.0
# Compiler settings for the targets of rotary and of the lab, a separate project. The targets link
# rotary_options privately.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH rotary_repository)

set(ROTARY_SANITIZE "" CACHE STRING "Comma-separated sanitizers, for example address,undefined")

set(ROTARY_COLD -O1 CACHE STRING
  "Release optimization of code off the per-token path; -Os: smaller, slower to build")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
endif()

# Lets ccache reuse objects of another checkout: ccache hashes relative paths and the content of
# precompiled headers. Depend mode hashes each file that the compiler read, because a hash of the
# preprocessed text would miss a changed precompiled header. Public headers use include guards: g++
# identifies files with #pragma once by time, and cached precompiled headers have other times.
if(PROJECT_IS_TOP_LEVEL)
  find_program(ROTARY_CCACHE ccache DOC "ccache; empty: without one")
endif()
if(ROTARY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  foreach(language IN ITEMS C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${rotary_repository}"
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 "${ROTARY_CCACHE}")
  endforeach()
endif()

add_library(rotary_options INTERFACE)
target_compile_features(rotary_options INTERFACE cxx_std_20)
target_compile_options(rotary_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror=switch
  # The numeric contract promises fixed bits, so products and sums fuse only where the code says so.
  -ffp-contract=off
  # Starts g++'s garbage collector late: with the default of 128 MiB it takes a tenth of the time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>
  # Tells ccache which precompiled header is used.
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  $<$<BOOL:${ROTARY_WARNINGS_AS_ERRORS}>:-Werror>)

if(ROTARY_SANITIZE)
  target_compile_options(rotary_options INTERFACE
    -fsanitize=${ROTARY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # gcc 12 warns falsely about code that sanitizers add to std::optional.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rotary_options INTERFACE -fsanitize=${ROTARY_SANITIZE})
endif()
