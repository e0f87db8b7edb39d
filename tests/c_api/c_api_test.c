/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "check.h"

int main(void) {
  CHECK(strcmp(rotary_last_error(), "") == 0); /* nothing has failed yet */
  test_library();
  test_model();
  test_rotations();
  test_null_arguments();
  test_bad_values();
  printf("%d checks failed\n", check_count_failed());
  return check_count_failed() == 0 ? 0 : 1;
}
