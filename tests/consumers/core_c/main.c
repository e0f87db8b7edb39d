/* SPDX-License-Identifier: Apache-2.0 */
/* Rotates one pair by hand and with rotary. Exit status 0: the results agree. */
#include <math.h>
#include <stdio.h>

#include "rotary/rotary.h"

static rotary_status frequencies_of_one_pair(double inv_freq, rotary_frequencies** out) {
  rotary_window window = ROTARY_WINDOW_INIT;
  window.head_dim = 2;
  window.rotary_dim = 2;
  window.pairing = ROTARY_PAIRING_HALF;
  return rotary_frequencies_of_inv_freq(&window, &inv_freq, 1, 1, out);
}

/* Rotates q in place. Frees all handles that it makes. */
static rotary_status rotate_pair(float q[2], double inv_freq, int64_t position) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  rotary_frequencies* frequencies = NULL;
  rotary_rotations* rotations = NULL;

  positions.first = position;
  positions.tokens = 1;
  view.data = q;
  view.dtype = ROTARY_F32;
  view.extents[1] = 1;
  view.extents[2] = 1;
  view.extents[3] = 2;

  rotary_status status = frequencies_of_one_pair(inv_freq, &frequencies);
  if (status == ROTARY_OK)
    status = rotary_rotations_make(frequencies, &positions, NULL, &rotations);
  if (status == ROTARY_OK) status = rotary_rotate(&view, &view, rotations, NULL);
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
  return status;
}

int main(void) {
  float q[2] = {0.5F, -2.0F};
  if (rotary_abi_version() != ROTARY_ABI_VERSION) return 1;
  if (rotate_pair(q, 0.25, 12) != ROTARY_OK) {
    fprintf(stderr, "%s\n", rotary_last_error());
    return 1;
  }
  /* The angle is 0.25 * 12. */
  const double x = 0.5 * cos(3.0) + 2.0 * sin(3.0);
  const double y = 0.5 * sin(3.0) - 2.0 * cos(3.0);
  const double error = hypot((double)q[0] - x, (double)q[1] - y);
  printf("C: off by %.1e\n", error);
  return error < 1e-6 ? 0 : 1;
}
