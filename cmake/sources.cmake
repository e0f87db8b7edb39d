# SPDX-License-Identifier: Apache-2.0
# Dependencies as sources, for systems without their packages.
include(FetchContent)

# rotary_find(<name> PACKAGE <package> VERSION <oldest> DEBIAN <package> REPOSITORY <address>
#   COMMIT <hash>)
# If FETCHCONTENT_SOURCE_DIR_<NAME> is set, takes the sources in that folder. Otherwise takes the
# CMake package, or the sources of the repository if there is no package. Sets <package>_VERSION for
# a package, rotary_<name>_folder for sources.
macro(rotary_find name)
  cmake_parse_arguments(rotary_find "" "PACKAGE;VERSION;DEBIAN;REPOSITORY;COMMIT" "" ${ARGN})
  string(TOUPPER "${name}" rotary_find_upper)
  if(NOT FETCHCONTENT_SOURCE_DIR_${rotary_find_upper})
    find_package(${rotary_find_PACKAGE} ${rotary_find_VERSION} CONFIG QUIET)
  endif()
  if(NOT ${rotary_find_PACKAGE}_FOUND)
    rotary_require_source(${name})
    FetchContent_Declare(${name}
      GIT_REPOSITORY "${rotary_find_REPOSITORY}"
      GIT_TAG ${rotary_find_COMMIT}
      SOURCE_SUBDIR none)  # skips the dependency's CMakeLists.txt: tests, install rules, options
    FetchContent_MakeAvailable(${name})
    set(rotary_${name}_folder "${${name}_SOURCE_DIR}")
  endif()
endmacro()

# Fails with advice if the sources are unreachable, because FetchContent prints a page of git
# output. Reads rotary_find's arguments.
function(rotary_require_source name)
  if(FETCHCONTENT_SOURCE_DIR_${rotary_find_upper} OR EXISTS "${FETCHCONTENT_BASE_DIR}/${name}-src")
    return()
  endif()
  if(NOT FETCHCONTENT_FULLY_DISCONNECTED)
    find_package(Git QUIET)
    execute_process(
      COMMAND "${GIT_EXECUTABLE}" ls-remote --exit-code "${rotary_find_REPOSITORY}" HEAD
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET TIMEOUT 60)
    if(result EQUAL 0)
      message(STATUS "rotary: cloning ${rotary_find_REPOSITORY}, ${rotary_find_COMMIT}")
      return()
    endif()
  endif()
  set(got "none")
  if(${rotary_find_PACKAGE}_CONSIDERED_VERSIONS)
    set(got "${${rotary_find_PACKAGE}_CONSIDERED_VERSIONS}")
  endif()
  message(FATAL_ERROR "rotary needs the CMake package ${rotary_find_PACKAGE} "
    "${rotary_find_VERSION} or later, got ${got}, and ${rotary_find_REPOSITORY} cannot be reached. "
    "Install it (Debian: ${rotary_find_DEBIAN}), or unpack its sources and pass "
    "-DFETCHCONTENT_SOURCE_DIR_${rotary_find_upper}=<folder>.")
endfunction()

# rotary_get_version(<variable> <file> <prefix>): "1.0.3" from <prefix>_MAJOR, _MINOR and _PATCH.
function(rotary_get_version variable file prefix)
  set(numbers "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    set(line "")
    if(EXISTS "${file}")
      file(STRINGS "${file}" line LIMIT_COUNT 1 REGEX "^#define ${prefix}_${part} +[0-9]+")
    endif()
    if(NOT line MATCHES "${part} +([0-9]+)")
      message(FATAL_ERROR "${file} must define ${prefix}_${part}, got none")
    endif()
    list(APPEND numbers ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN numbers "." version)
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()
