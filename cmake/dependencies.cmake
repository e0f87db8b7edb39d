# SPDX-License-Identifier: Apache-2.0
# Every dependency with its purpose, licence and oldest version. ./dev installs the Debian 12
# packages. Highway and nlohmann/json may also come as sources. rotary_third_party records parts of
# an installation. lab/CMakeLists.txt has the lab's own dependencies.

include("${CMAKE_CURRENT_LIST_DIR}/third_party.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/sources.cmake")

# libhwy-dev, for the library, bench/ and conformance/: headers and the shared object. The commit is
# tag 1.0.3. Bits and instruction counts are recorded with this version.
set(rotary_hwy_version 1.0.3)
set(rotary_highway hwy::hwy)
rotary_find(highway
  PACKAGE hwy
  VERSION ${rotary_hwy_version}
  DEBIAN libhwy-dev
  REPOSITORY https://github.com/google/highway.git
  COMMIT 58746ca5b9f9444a2a3549704602ecc6239f8f41)
if(NOT hwy_FOUND)
  rotary_get_version(hwy_VERSION "${rotary_highway_folder}/hwy/highway.h" HWY)
  # Version 1.0.3 needs only the two sources below. Another version may need others.
  if(NOT hwy_VERSION VERSION_EQUAL rotary_hwy_version)
    message(FATAL_ERROR "Highway in ${rotary_highway_folder} must be ${rotary_hwy_version}, got "
      "${hwy_VERSION}")
  endif()
  set(rotary_highway rotary_highway)
  add_library(rotary_highway OBJECT
    "${rotary_highway_folder}/hwy/per_target.cc" "${rotary_highway_folder}/hwy/targets.cc")
  target_include_directories(rotary_highway SYSTEM PUBLIC "${rotary_highway_folder}")
  target_compile_definitions(rotary_highway PUBLIC HWY_STATIC_DEFINE)
  # Highway's assertions contain file names, which must not show this machine's paths.
  target_compile_options(rotary_highway PUBLIC
    "-ffile-prefix-map=${rotary_highway_folder}=highway")
  target_compile_features(rotary_highway PRIVATE cxx_std_20)
  set_target_properties(rotary_highway PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endif()
rotary_third_party(Highway
  VERSION "${hwy_VERSION}"
  LICENCE Apache-2.0
  COPYRIGHT "2019-2022 Google LLC"
  HOME https://github.com/google/highway
  USER library
  HELD contained
  WHY "kernels written once, compiled for each instruction set, chosen at run time")

# nlohmann-json3-dev, headers only. src/model uses the SAX parser alone, since destroying a JSON
# tree allocates. The tool writes JSON trees, and tests read golden data. The commit is tag v3.11.2.
if(NOT ROTARY_CORE_ONLY)
  rotary_find(nlohmann_json
    PACKAGE nlohmann_json
    VERSION 3.11
    DEBIAN nlohmann-json3-dev
    REPOSITORY https://github.com/nlohmann/json.git
    COMMIT bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d)
  if(NOT nlohmann_json_FOUND)
    rotary_get_version(nlohmann_json_VERSION
      "${rotary_nlohmann_json_folder}/include/nlohmann/detail/abi_macros.hpp"
      NLOHMANN_JSON_VERSION)
    add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
    target_include_directories(nlohmann_json::nlohmann_json INTERFACE
      "${rotary_nlohmann_json_folder}/include")
  endif()
  rotary_third_party("JSON for Modern C++"
    VERSION "${nlohmann_json_VERSION}"
    LICENCE MIT
    COPYRIGHT
      "2013-2022 Niels Lohmann"
      "2009 Florian Loitsch (conversions/to_chars.hpp)"
      "2008-2009 Bjoern Hoehrmann (output/serializer.hpp)"
    HOME https://github.com/nlohmann/json
    USER library
    HELD contained
    WHY "its SAX interface lets us refuse duplicate keys and depth while reading a config")
endif()

# Threads are part of glibc (LGPL-2.1+). Only rotary::threads starts them.
find_package(Threads REQUIRED)

if(ROTARY_PYTHON)
  # nanobind comes from a Python package index, by pyproject.toml. Only python/module uses it. With
  # CPython's C API alone the module would need ten times the code. nanobind's runtime is a separate
  # package, nanobind-backend, so that one module fits every CPython from 3.10 on.
  find_package(Python 3.10 REQUIRED
    COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  find_package(nanobind 3.1 CONFIG REQUIRED)
  rotary_third_party(nanobind
    VERSION "${nanobind_VERSION}"
    LICENCE BSD-3-Clause
    COPYRIGHT "2022 Wenzel Jakob <wenzel.jakob@epfl.ch>"
    HOME https://github.com/wjakob/nanobind
    USER module
    HELD contained
    WHY "the Python module's functions, classes and arrays")
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # python/CMakeLists.txt links libstdc++ into the module and the tool.
    rotary_third_party(libstdc++
      VERSION "${CMAKE_CXX_COMPILER_VERSION}"
      LICENCE "GPL-3.0-or-later WITH GCC-exception-3.1"
      COPYRIGHT "1985-2022 Free Software Foundation, Inc."
      HOME https://gcc.gnu.org
      USER module
      HELD contained
      WHY "the C++ standard library: that of a machine may be older than the compiler's")
  endif()
endif()

if(ROTARY_TOOL OR ROTARY_DEVELOPER OR ROTARY_FUZZ)
  # libfmt-dev, for tool, tests and fuzz targets. A wheel uses its headers alone.
  find_package(fmt 9 CONFIG REQUIRED)
  set(rotary_fmt fmt::fmt)
  if(ROTARY_PYTHON)
    set(rotary_fmt fmt::fmt-header-only)
  endif()
  rotary_third_party(fmt
    VERSION "${fmt_VERSION}"
    LICENCE MIT
    COPYRIGHT "2012-present Victor Zverovich"
    HOME https://github.com/fmtlib/fmt
    USER tool
    HELD contained
    WHY "text output, since std::format is absent in gcc 12")
endif()

if(ROTARY_TOOL)
  # libcli11-dev, headers only.
  find_package(CLI11 2.1 CONFIG REQUIRED)
  rotary_third_party(CLI11
    VERSION "${CLI11_VERSION}"
    LICENCE BSD-3-Clause
    COPYRIGHT
      "2017-2020 University of Cincinnati, developed by Henry Schreiner under NSF AWARD 1414736"
    HOME https://github.com/CLIUtils/CLI11
    USER tool
    HELD contained
    WHY "subcommands and option parsing")

  # libjs-chart.js, embedded in the pages of `report`. It is text for a browser, so a cross-build
  # takes this machine's copy.
  find_file(CHART_JS chart.min.js NO_CMAKE_FIND_ROOT_PATH
    PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
    DOC "chart.min.js of Chart.js 3")
  if(NOT CHART_JS)
    message(FATAL_ERROR "Pages of report need Chart.js 3: install "
      "libjs-chart.js, or pass -DCHART_JS=<folder>/chart.min.js")
  endif()
  file(READ "${CHART_JS}" rotary_chart_head LIMIT 200)
  if(NOT rotary_chart_head MATCHES "Chart\\.js v(3\\.[0-9.]+)")
    message(FATAL_ERROR "CHART_JS must be Chart.js 3, got ${CHART_JS}")
  endif()
  rotary_third_party(Chart.js
    VERSION "${CMAKE_MATCH_1}"
    LICENCE MIT
    COPYRIGHT
      "2014-2022 Chart.js Contributors"
      "2022 Jukka Kurkela (@kurkle/color, within it)"
    HOME https://www.chartjs.org
    USER tool
    HELD contained
    WHY "draws the charts of the pages of report, each of which has a copy inside")
endif()

if(ROTARY_TOOL_BENCH OR ROTARY_DEVELOPER OR ROTARY_FUZZ)
  # libmpfr-dev, which installs libgmp-dev. Only the reference uses it: in tests, fuzz targets,
  # rotary-start and `rotary bench`. The libraries do not.
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(mpfr REQUIRED IMPORTED_TARGET mpfr>=4.2)
  rotary_third_party("GNU MPFR"
    VERSION "${mpfr_VERSION}"
    LICENCE LGPL-3.0-or-later
    COPYRIGHT "2000-2023 Free Software Foundation, Inc."
    HOME https://www.mpfr.org
    USER tool
    HELD linked
    WHY "cos and sin of an angle that no double holds, for what bench verifies")
  pkg_check_modules(gmp QUIET gmp)
  rotary_third_party("GNU MP"
    VERSION "${gmp_VERSION}"
    LICENCE "LGPL-3.0-or-later OR GPL-2.0-or-later"
    COPYRIGHT "1991-2020 Free Software Foundation, Inc."
    HOME https://gmplib.org
    USER tool
    HELD linked
    WHY "the integers of GNU MPFR")
endif()

if(ROTARY_TOOL_NPZ)
  find_package(PkgConfig REQUIRED)
  # libzip-dev, found by pkg-config: Debian's CMake package requires other packages' programs.
  pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip>=1.7)
  rotary_third_party(libzip
    VERSION "${libzip_VERSION}"
    LICENCE BSD-3-Clause
    COPYRIGHT "1999-2020 Dieter Baron and Thomas Klausner"
    HOME https://libzip.org
    USER tool
    HELD linked
    WHY "the .npz container of table")
endif()

# gnuplot-nox (gnuplot's own licence, free to use): the program that `rotary plot` runs to draw SVG
# and PNG. Building does not need it. Without it, tests of drawing are skipped.

if(ROTARY_DEVELOPER)
  # libgtest-dev (BSD-3-Clause), for tests.
  find_package(GTest 1.12 CONFIG REQUIRED)

  # librapidcheck-dev (BSD-2-Clause), for tests: properties over generated inputs, which it shrinks.
  find_package(rapidcheck CONFIG REQUIRED)
endif()

# CUDA's toolkit (NVIDIA's licence), only with ROTARY_CUDA: nvcc, and the runtime, which is linked
# into the library (cuda/CMakeLists.txt).
