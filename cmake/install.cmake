# SPDX-License-Identifier: Apache-2.0
# Installs the libraries, headers, tool, CMake package, pkg-config files and licence. Installed
# paths are relative to the file that holds them, so the tree can be moved.
include(CMakePackageConfigHelpers)

set(rotary_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/rotary")
get_target_property(rotary_library_type rotary TYPE)

# The C++ runtime. A C program must link it together with the static library.
set(rotary_cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER rotary_cxx_runtime INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|m)$")
list(TRANSFORM rotary_cxx_runtime REPLACE "(.+)" "\$<LINK_ONLY:\\1>"
  OUTPUT_VARIABLE rotary_cxx_runtime_items)

set_target_properties(rotary_threads PROPERTIES EXPORT_NAME threads)
install(TARGETS rotary rotary_threads EXPORT rotaryTargets)
# With ROTARY_CORE_ONLY, installs only the core's headers, so that including another fails at once.
set(rotary_headers *.h *.hpp)
set(rotary_pc_flags "")
if(ROTARY_CORE_ONLY)
  set(rotary_headers
    attention_contract.hpp axes.hpp describe.hpp executor.hpp export.h frequencies.hpp
    instruction_set.hpp numeric_contract.hpp positions.hpp result.hpp rotary.h rotary.hpp
    rotary_spec.hpp rotary_threads.h rotate.hpp rotations.hpp scaling.hpp tensor_view.hpp
    threads.hpp version.hpp)
  set(rotary_pc_flags " -DROTARY_CORE_ONLY")
endif()
list(TRANSFORM rotary_headers PREPEND "PATTERN;" OUTPUT_VARIABLE rotary_header_patterns)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/rotary" TYPE INCLUDE
  FILES_MATCHING ${rotary_header_patterns})
if(ROTARY_CUDA)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/cuda/include/rotary" TYPE INCLUDE)
endif()
install(FILES LICENSE README.md TYPE DOC)
include(cmake/notices.cmake)

set(rotary_installed_targets rotary rotary_threads)
if(ROTARY_TOOL)
  install(TARGETS rotary_tool)
  include(cmake/manual.cmake)
  list(APPEND rotary_installed_targets rotary_tool)
  if(rotary_library_type STREQUAL "SHARED_LIBRARY")
    file(RELATIVE_PATH bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    set_target_properties(rotary_tool PROPERTIES INSTALL_RPATH "\$ORIGIN/${bin_to_lib}")
    set_target_properties(rotary rotary_threads PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${bin_to_lib}")
  endif()
endif()

# Build and install trees have the same layout, so installed paths also work in the build tree.
# Otherwise CMake pads the build tree's paths with empty elements until installation. The loader
# reads an empty element as the current directory, where anybody may write.
set_target_properties(${rotary_installed_targets} PROPERTIES
  BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH_USE_LINK_PATH ON)

# For find_package(rotary CONFIG). While the major version is 0, a minor version may break callers.
install(EXPORT rotaryTargets NAMESPACE rotary:: DESTINATION "${rotary_package_folder}")
set(rotary_find_cuda "# CUDA is left out.")
if(ROTARY_CUDA)
  set(rotary_find_cuda "find_dependency(CUDAToolkit)")
endif()
set(rotary_find_highway "find_dependency(hwy ${rotary_hwy_version} CONFIG)")
if(TARGET rotary_highway)
  set(rotary_find_highway "# Highway is inside.")
endif()
if(rotary_library_type STREQUAL "SHARED_LIBRARY")
  # With rotary_DIR set to the build folder, find_package works without an installation.
  export(EXPORT rotaryTargets NAMESPACE rotary:: FILE rotaryTargets.cmake)
endif()
configure_package_config_file(cmake/rotaryConfig.cmake.in rotaryConfig.cmake
  INSTALL_DESTINATION "${rotary_package_folder}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(rotaryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES
    "${CMAKE_CURRENT_BINARY_DIR}/rotaryConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/rotaryConfigVersion.cmake"
  DESTINATION "${rotary_package_folder}")

# For pkg-config. If rotary is static, plain --libs must name every library that rotary needs.
# Highway is named as a library (its package adds compile flags) unless rotary contains it.
set(rotary_pc_highway hwy)
if(TARGET rotary_highway)
  set(rotary_pc_highway "")
endif()
set(rotary_pc_libraries "")
set(rotary_threads_pc_libraries "")
if(rotary_library_type STREQUAL "STATIC_LIBRARY")
  string(JOIN " -l" rotary_pc_libraries "" ${rotary_pc_highway} ${rotary_cxx_runtime})
  string(JOIN " -l" rotary_threads_pc_libraries " -pthread" ${rotary_cxx_runtime})
endif()
file(RELATIVE_PATH pc_to_prefix
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
file(RELATIVE_PATH prefix_to_lib "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH prefix_to_include "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
foreach(name IN ITEMS rotary rotary-threads)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
