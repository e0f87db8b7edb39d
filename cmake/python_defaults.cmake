# SPDX-License-Identifier: Apache-2.0
# Defaults for building the Python package, set before the options. The package has the module, and
# the tool if its dependencies are found. Nothing in it needs MPFR or libzip, which wheels lack.
set(rotary_is_whole OFF)
find_package(fmt 9 CONFIG QUIET)
find_package(CLI11 2.1 CONFIG QUIET)
find_file(CHART_JS chart.min.js NO_CMAKE_FIND_ROOT_PATH
  PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
  DOC "chart.min.js of Chart.js 3")
if(fmt_FOUND AND CLI11_FOUND AND CHART_JS)
  set(rotary_is_whole ON)
else()
  message(STATUS "rotary: the Python package is built without the tool, which needs fmt, CLI11 and "
    "Chart.js 3 (Debian: libfmt-dev libcli11-dev libjs-chart.js)")
endif()
foreach(option IN ITEMS ROTARY_TOOL_BENCH ROTARY_TOOL_NPZ ROTARY_INSTALL ROTARY_DEVELOPER)
  set(${option} OFF CACHE BOOL "Off in the Python package")
endforeach()

# `pip install .` builds for this machine. A wheel for other machines must ask for all sets.
if(NOT DEFINED ROTARY_INSTRUCTION_SETS AND NOT CMAKE_CROSSCOMPILING AND EXISTS /proc/cpuinfo)
  set(ROTARY_INSTRUCTION_SETS native CACHE STRING "As cmake/instruction_sets.cmake says")
  message(STATUS "rotary: kernels for this machine's best instruction set; for a wheel for "
    "other machines: pip wheel . -C cmake.define.ROTARY_INSTRUCTION_SETS=all")
endif()
