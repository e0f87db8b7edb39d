/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies and positions of several axes, which the fuzz target c_abi does not reach. */
#include <string.h>

#include "check.h"
#include "fixtures.h"

/* Returns 1 if the rows of two rotations have the same 3 cosines and sines for each token. */
static int same_rows(const rotary_rotations* a, const rotary_rotations* b) {
  rotary_cos_sin rows[2] = {ROTARY_COS_SIN_INIT, ROTARY_COS_SIN_INIT};
  if (!CHECK_OK(rotary_rotations_rows(a, &rows[0]))) return 0;
  if (!CHECK_OK(rotary_rotations_rows(b, &rows[1]))) return 0;
  if (rows[0].tokens != rows[1].tokens || rows[0].dtype != rows[1].dtype) return 0;
  const size_t size = rows[0].dtype == ROTARY_F64 ? sizeof(double) : sizeof(float);
  for (int64_t token = 0; token < rows[0].tokens; ++token) {
    const int64_t at_a = token * rows[0].token_stride * (int64_t)size;
    const int64_t at_b = token * rows[1].token_stride * (int64_t)size;
    if (memcmp((const char*)rows[0].cos + at_a, (const char*)rows[1].cos + at_b, 3 * size) != 0 ||
        memcmp((const char*)rows[0].sin + at_a, (const char*)rows[1].sin + at_b, 3 * size) != 0) {
      return 0;
    }
  }
  return 1;
}

/* Compares two axes from a list with a spec. Also tests dense frequencies and refusals. */
static void test_axes(void) {
  static const int64_t ids[2][3] = {{1, 2, 3}, {7, 5, -6}};
  static const double inv_freq[4] = {1, 0.5, 0.25, 2};
  static const int32_t pair_axes[2] = {1, 0};
  rotary_frequencies* of_list = NULL;
  rotary_frequencies* const of_spec = frequencies_of(
      "{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\","
      " \"axes\": {\"pairs\": [1, 1], \"exponents\": \"own\", \"order\": [1, 0],"
      " \"scales\": [0.5, 1]}}");
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_axis_frequencies from = ROTARY_AXIS_FREQUENCIES_INIT;
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_rotations* one = NULL;
  rotary_rotations* other = NULL;
  CHECK_OK(rotary_frequencies_window(of_spec, &window));
  CHECK(window.blocks == 1);
  from.axes = 2;
  from.pair_axes = pair_axes;
  from.inv_freq = inv_freq;
  from.count = 2;
  CHECK_OK(rotary_frequencies_of_axes(&window, &from, &of_list));
  CHECK(rotary_frequencies_alike(of_list, of_spec) == 1);
  CHECK(rotary_frequencies_axes(of_spec) == 2);
  CHECK(rotary_frequencies_pair_axes(of_spec)[0] == 1 &&
        rotary_frequencies_pair_axes(of_spec)[1] == 0);
  positions.kind = ROTARY_POSITIONS_INT64;
  positions.data = ids;
  positions.tokens = 3;
  positions.axes = 2;
  positions.axis_stride = 3;
  CHECK_OK(rotary_rotations_make(of_list, &positions, NULL, &one));
  CHECK_OK(rotary_rotations_make(of_spec, &positions, NULL, &other));
  CHECK(same_rows(one, other));
  positions.axes = 3;
  CHECK_FAILS(rotary_rotations_remake(one, of_list, &positions), ROTARY_INVALID_ARGUMENT,
              "1 axis, or 2 as the frequencies, got 3");
  positions.kind = ROTARY_POSITIONS_CONSECUTIVE;
  positions.data = NULL;
  CHECK_FAILS(rotary_rotations_remake(one, of_list, &positions), ROTARY_INVALID_ARGUMENT,
              "positions.axes must be 1");
  rotary_frequencies_free(of_list);

  from.pair_axes = NULL; /* dense */
  CHECK_FAILS(rotary_frequencies_of_axes(&window, &from, &of_list), ROTARY_INVALID_ARGUMENT,
              "from.count must be rotary_dim / 2, 2, for each axis; got 2");
  from.count = 4;
  CHECK_OK(rotary_frequencies_of_axes(&window, &from, &of_list));
  CHECK(rotary_frequencies_axes(of_list) == 2 && rotary_frequencies_pair_axes(of_list) == NULL);
  rotary_frequencies_free(of_list);
  from.axes = 9;
  CHECK_FAILS(rotary_frequencies_of_axes(&window, &from, &of_list), ROTARY_INVALID_ARGUMENT,
              "from.axes must be in 1..8, got 9");
  from.struct_size = 0;
  CHECK_FAILS(rotary_frequencies_of_axes(&window, &from, &of_list), ROTARY_INVALID_ARGUMENT,
              "from.struct_size");
  rotary_rotations_free(one);
  rotary_rotations_free(other);
  rotary_frequencies_free(of_spec);
}

void test_rotations(void) { test_axes(); }
