/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <string.h>

static int failed = 0;

int check(int condition, const char* file, int line, const char* text) {
  if (condition) return 1;
  printf("%s:%d: failed: %s\n", file, line, text);
  ++failed;
  return 0;
}

int check_count_failed(void) { return failed; }

int check_fails(rotary_status got, rotary_status wanted, const char* part, const char* file,
                int line) {
  if (got == wanted && strstr(rotary_last_error(), part) != NULL) return 1;
  printf("%s:%d: failed: got %s where %s was expected with '%s'; the error is '%s'\n", file, line,
         rotary_status_name(got), rotary_status_name(wanted), part, rotary_last_error());
  ++failed;
  return 0;
}
