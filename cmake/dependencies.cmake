# SPDX-License-Identifier: Apache-2.0
# Every dependency, with its reason and licence. All are Debian 12 packages; ./dev installs them.

# libhwy-dev (Apache-2.0 or BSD-3-Clause). Core, private: kernels written once, compiled for each
# instruction set, chosen at run time.
find_package(hwy CONFIG REQUIRED)

# nlohmann-json3-dev (MIT). Core, private to src/model: its SAX interface lets us refuse duplicate
# keys and depth while reading a config. `rotary explain` changes the keys of a config that was read
# so. Tests read golden data with it.
find_package(nlohmann_json 3.11 CONFIG REQUIRED)

# Part of the C library (glibc, LGPL-2.1+). rotary::threads alone; the core starts no thread.
find_package(Threads REQUIRED)

if(ROTARY_DEVELOPER OR ROTARY_FUZZ OR ROTARY_LAB)
  # libfmt-dev (MIT). Tool, lab: text output; std::format is absent in gcc 12.
  find_package(fmt 9 CONFIG REQUIRED)
endif()

if(ROTARY_DEVELOPER OR ROTARY_LAB)
  # libcli11-dev (BSD-3-Clause). Tool, lab: subcommands and option parsing.
  find_package(CLI11 2.1 CONFIG REQUIRED)

  # libgtest-dev (BSD-3-Clause). Tests.
  find_package(GTest 1.12 CONFIG REQUIRED)

  # libjs-chart.js (MIT). Tool, lab: draws the charts of the pages of `report`, each of which has
  # a copy inside, with its licence. Text for a browser, so a cross-build takes this machine's.
  find_file(CHART_JS chart.min.js NO_CMAKE_FIND_ROOT_PATH
    PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
    DOC "chart.min.js of Chart.js 3")
  if(NOT CHART_JS)
    message(FATAL_ERROR "Pages of report need Chart.js 3: install "
      "libjs-chart.js, or pass -DCHART_JS=<folder>/chart.min.js")
  endif()
endif()

if(ROTARY_DEVELOPER)
  # libmpfr-dev (LGPL-3+). Reference: cos and sin of an angle that no double holds. Linked by tests,
  # by rotary-start, and by the tool, whose command bench verifies with it; not by the libraries.
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(mpfr REQUIRED IMPORTED_TARGET mpfr)

  # libzip-dev (BSD-3-Clause). Tool: the .npz container of `rotary table`. By pkg-config, because
  # Debian's CMake package asks for programs that live in other packages.
  pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)

  # gnuplot-nox (gnuplot's own licence, free to use) is a program, and no library: `rotary plot`
  # looks for it when it draws. It makes SVG and PNG with axes and pictures in space. Building does
  # not need it; without it the tests of drawing are skipped.

  # librapidcheck-dev (BSD-2-Clause). Tests: properties over generated inputs, shrunk on failure.
  find_package(rapidcheck CONFIG REQUIRED)
endif()

if(ROTARY_LAB)
  # libtorch-dev (BSD-3-Clause). Lab: tensors, gradients, optimizers. Nothing else links it: it
  # brings some 300 shared objects along.
  # libgloo-dev (BSD-3-Clause), headers alone: those of torch's Gloo, by which processes share a
  # step, include them. Without them the lab builds, and run --data-parallel is refused.
  find_package(Torch REQUIRED)

  # libopenblas0-openmp (BSD-3-Clause). Lab: Debian's libtorch takes whatever libblas.so.3 is, and
  # the reference implementation is 16 times slower; the build with POSIX threads fights libtorch's
  # own. Linked by name, it is found before that one, whatever the alternatives of the system are.
  find_library(ROTARY_OPENBLAS NAMES libopenblas.so.0 libopenblas.so REQUIRED
    PATH_SUFFIXES openblas-openmp "${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp"
    DOC "The OpenMP build of OpenBLAS")

  # libssl-dev (Apache-2.0). Lab: SHA-256 of data and of configurations.
  find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)

  # libxml2-dev (MIT). Lab: its HTML parser reads the pages of translated manuals, of which it makes
  # pairs. Of the parsers that Debian has it is the one that is maintained.
  find_package(LibXml2 REQUIRED)

  # sentencepiece (Apache-2.0) is programs, and no library: the pieces of words that translation has
  # for tokens. Its library has a protobuf inside, of another version than libtorch's, with the same
  # symbols: in one process they end it.

  # sacreBLEU (Apache-2.0, https://github.com/mjpost/sacrebleu) is a program that the lab calls when
  # it is there, and no library: numbers of other implementations of BLEU cannot be compared with
  # published ones. Debian has no package of it.

  # zlib1g-dev (Zlib). Lab: manual pages come compressed by gzip.
  find_package(ZLIB REQUIRED)
endif()
