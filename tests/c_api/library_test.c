/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "rotary/version.hpp"

void test_library(void) {
  CHECK(rotary_abi_version() == ROTARY_ABI_VERSION);
  CHECK(strcmp(rotary_version(), ROTARY_VERSION_STRING) == 0);
  CHECK(strcmp(rotary_status_name(ROTARY_OK), "ok") == 0);
  CHECK(strcmp(rotary_status_name(ROTARY_INVALID_ARGUMENT), "invalid_argument") == 0);
  CHECK(strcmp(rotary_status_name(ROTARY_MALFORMED_INPUT), "malformed_input") == 0);
  CHECK(strcmp(rotary_status_name(ROTARY_UNSUPPORTED), "unsupported") == 0);
  CHECK(strcmp(rotary_status_name(ROTARY_OUT_OF_MEMORY), "out_of_memory") == 0);
  CHECK(strcmp(rotary_status_name(-1), "unknown") == 0);

  char before[32] = "";
  const char* const name = rotary_instruction_set();
  if (CHECK(name != NULL && strlen(name) < sizeof before)) strcpy(before, name);
  CHECK_FAILS(rotary_force_instruction_set("ABACUS"), ROTARY_UNSUPPORTED, "ABACUS");
  CHECK_OK(rotary_force_instruction_set(before));
  CHECK(strcmp(rotary_instruction_set(), before) == 0);
}
