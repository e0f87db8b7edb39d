# SPDX-License-Identifier: Apache-2.0
# rotary_instruction_sets: Highway's names of the sets to compile kernels for, best first. Kernels
# for the compiler's baseline are always compiled. 64-bit Arm has only the baseline, NEON.
set(ROTARY_INSTRUCTION_SETS all CACHE STRING
  "all, native (this machine's best), runnable (all of this machine), or names: AVX3;AVX2;SSE4")

set(rotary_instruction_sets "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(rotary_instruction_sets AVX3 AVX2 SSE4)
endif()

# Features that each set needs, as /proc/cpuinfo names them.
set(rotary_features_of_AVX3 avx512f avx512bw avx512dq avx512vl)
set(rotary_features_of_AVX2 avx2 fma bmi2 f16c)
set(rotary_features_of_SSE4 sse4_1 sse4_2 pclmulqdq aes)

if(ROTARY_INSTRUCTION_SETS MATCHES "^(native|runnable)$")
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "A cross-build does not know the machine that it builds for: "
      "ROTARY_INSTRUCTION_SETS must be all or names, got ${ROTARY_INSTRUCTION_SETS}")
  endif()
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  string(REPLACE " " ";" flags "${flags}")
  foreach(set IN LISTS rotary_instruction_sets)
    foreach(feature IN LISTS rotary_features_of_${set})
      if(NOT feature IN_LIST flags)
        list(REMOVE_ITEM rotary_instruction_sets ${set})
      endif()
    endforeach()
  endforeach()
  if(ROTARY_INSTRUCTION_SETS STREQUAL native)
    list(SUBLIST rotary_instruction_sets 0 1 rotary_instruction_sets)
  endif()
elseif(NOT ROTARY_INSTRUCTION_SETS STREQUAL all)
  foreach(set IN LISTS ROTARY_INSTRUCTION_SETS)
    if(NOT set IN_LIST rotary_instruction_sets)
      message(FATAL_ERROR "ROTARY_INSTRUCTION_SETS must be all, native, runnable, or names from "
        "'${rotary_instruction_sets}', got '${ROTARY_INSTRUCTION_SETS}'")
    endif()
  endforeach()
  set(rotary_instruction_sets ${ROTARY_INSTRUCTION_SETS})
endif()
