/* SPDX-License-Identifier: Apache-2.0 */
/* Frequencies and positions of several axes, which the fuzz target c_abi does not reach. */
#include <math.h>

#include "check.h"
#include "fixtures.h"

static const int64_t ids[2][3] = {{1, 2, 3}, {7, 5, -6}};
static const double inv_freq[4] = {1, 0.5, 0.25, 2};
static const int32_t pair_axes[2] = {1, 0};

/* The rows must be those of 2 pairs and the 3 tokens of ids. */
static void check_rows(const rotary_rotations* rotations) {
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  if (!CHECK_OK(rotary_rotations_rows(rotations, &rows))) return;
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t at = i / 2 * rows.token_stride + i % 2;
    const double angle = (double)ids[pair_axes[i % 2]][i / 2] * inv_freq[i % 2];
    CHECK(fabs(((const float*)rows.cos)[at] - cos(angle)) <= 1e-6);
    CHECK(fabs(((const float*)rows.sin)[at] - sin(angle)) <= 1e-6);
  }
}

/* Compares two axes from a list with a spec. Also tests dense frequencies and refusals. */
static void test_axes(void) {
  rotary_frequencies* of_list = NULL;
  rotary_frequencies* const of_spec = frequencies_of(
      "{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\","
      " \"axes\": {\"pairs\": [1, 1], \"exponents\": \"own\", \"order\": [1, 0],"
      " \"scales\": [0.5, 1]}}");
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_axis_frequencies from = ROTARY_AXIS_FREQUENCIES_INIT;
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_rotations* rotations = NULL;
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
  CHECK_OK(rotary_rotations_make(of_list, &positions, NULL, &rotations));
  check_rows(rotations);
  positions.axes = 3;
  CHECK_FAILS(rotary_rotations_remake(rotations, of_list, &positions), ROTARY_INVALID_ARGUMENT,
              "1 axis, or 2 as the frequencies, got 3");
  positions.kind = ROTARY_POSITIONS_CONSECUTIVE;
  positions.data = NULL;
  CHECK_FAILS(rotary_rotations_remake(rotations, of_list, &positions), ROTARY_INVALID_ARGUMENT,
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
  rotary_rotations_free(rotations);
  rotary_frequencies_free(of_spec);
}

void test_rotations(void) { test_axes(); }
