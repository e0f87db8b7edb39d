# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=… -DARGUMENTS=… -DEXPECTED=… -P compare_output.cmake: fails unless the program
# exits with 0 and its output equals the file byte for byte.
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} OUTPUT_VARIABLE output RESULT_VARIABLE result)
file(READ "${EXPECTED}" expected)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} must exit with 0, got ${result}")
endif()
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "output must equal ${EXPECTED}, got:\n${output}")
endif()
