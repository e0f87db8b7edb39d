/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a spec from each line of standard input. Prints "ok", or the status and the error. For
 * schema_test.py. */
#include <stdio.h>
#include <string.h>

#include "rotary/rotary.h"

int main(void) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    rotary_frequencies* frequencies;
    const rotary_status status =
        rotary_frequencies_of_spec_in_context(line, strlen(line), 4096, &frequencies);
    rotary_frequencies_free(frequencies);
    printf("%s: %s\n", rotary_status_name(status), status == ROTARY_OK ? "" : rotary_last_error());
  }
  return 0;
}
