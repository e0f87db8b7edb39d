/* SPDX-License-Identifier: Apache-2.0 */
/* Exit status 0: the fastest pair of a spec rotates by one radian per position. */
#include <stdio.h>
#include <string.h>

#include "rotary/rotary.h"

int main(void) {
  const char* spec = "{\"head_dim\": 128, \"base\": 500000, \"pairing\": \"interleaved\"}";
  rotary_frequencies* frequencies = NULL;
  if (rotary_frequencies_of_spec(spec, strlen(spec), &frequencies) != ROTARY_OK) {
    fprintf(stderr, "%s\n", rotary_last_error());
    return 1;
  }
  const double fastest = rotary_frequencies_inv_freq(frequencies)[0];
  printf("FetchContent: inv_freq[0] = %g\n", fastest);
  rotary_frequencies_free(frequencies);
  return fastest == 1.0 ? 0 : 1;
}
