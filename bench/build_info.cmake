# SPDX-License-Identifier: Apache-2.0
# cmake -D SOURCE=... -D RESULT=... -D compiler=... -D flags=... -D type=... -P build_info.cmake.
# Runs in each build, because a new commit does not trigger configuring. Unchanged output is not
# rewritten, so nothing is recompiled.
execute_process(
  COMMAND git describe --always --dirty --abbrev=12 --exclude *
  WORKING_DIRECTORY "${SOURCE}"
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit unknown)
endif()
configure_file("${SOURCE}/bench/build_info.cpp.in" "${RESULT}" @ONLY)
