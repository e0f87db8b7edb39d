/* SPDX-License-Identifier: Apache-2.0 */
/* Cached keys turned on through C: to where they would have been rotated, in float32 and in 8 bits;
 * what is NULL, too short or too new. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

enum { tokens = 3, heads = 2, features = 8 };

static const char spec[] = "{\"head_dim\": 8, \"base\": 10000, \"pairing\": \"half\"}";

static rotary_rotated_at standing(const rotary_frequencies* frequencies,
                                  const rotary_positions* positions) {
  rotary_rotated_at at = ROTARY_ROTATED_AT_INIT;
  at.frequencies = frequencies;
  at.positions = positions;
  return at;
}

static void run_backwards(void* context, int64_t count, rotary_task task, void* state) {
  *(int64_t*)context = count;
  while (count-- > 0) task(state, count);
}

static void test_float_keys(const rotary_frequencies* frequencies, rotary_rotations* by) {
  float keys[tokens * heads * features];
  float fresh[tokens * heads * features];
  const int64_t extents[3] = {tokens, heads, features};
  rotary_heads_view view = view_of(keys, ROTARY_F32, extents);
  rotary_heads_view wanted = view_of(fresh, ROTARY_F32, extents);
  rotary_rotations* old_places = rotations_of(frequencies, 1000, tokens, ROTARY_F32);
  rotary_rotations* new_places = rotations_of(frequencies, 20, tokens, ROTARY_F32);
  fill(&view, 0.5);
  fill(&wanted, 0.5);
  CHECK_OK(rotary_rotate(&view, &view, old_places, NULL));
  CHECK_OK(rotary_rotate(&wanted, &wanted, new_places, NULL));
  CHECK_OK(rotary_shift(&view, by, NULL));
  float largest = 0;
  for (int i = 0; i < tokens * heads * features; ++i) largest = fmaxf(largest, fabsf(fresh[i]));
  for (int i = 0; i < tokens * heads * features; ++i) {
    CHECK(fabsf(keys[i] - fresh[i]) <= 1e-6F * largest);
  }
  rotary_rotations_free(old_places);
  rotary_rotations_free(new_places);
}

/* A pair (100, 0) of scale 0.5 that turns by -980 radians, the others 0. */
static void test_int8_keys(const rotary_rotations* by) {
  int8_t elements[tokens * heads * features] = {100};
  float scales[tokens * heads] = {0.5F};
  rotary_int8_view view = ROTARY_INT8_VIEW_INIT;
  const int64_t extents[4] = {1, tokens, heads, features};
  const int64_t strides[4] = {0, heads * features, features, 1};
  memcpy(view.extents, extents, sizeof extents);
  memcpy(view.strides, strides, sizeof strides);
  view.data = elements;
  view.scales = scales;
  view.scale_strides[1] = heads;
  view.scale_strides[2] = 1;
  CHECK_OK(rotary_shift_int8(&view, by, NULL));
  CHECK(fabs(scales[0] * elements[0] - 50 * cos(980)) <= 0.51 * scales[0]);
  CHECK(fabs(scales[0] * elements[4] + 50 * sin(980)) <= 0.51 * scales[0]);
  CHECK(scales[1] == 0 && elements[1] == 0);
  CHECK_FAILS(rotary_shift_int8(NULL, by, NULL), ROTARY_INVALID_ARGUMENT, "keys must not be NULL");
  CHECK_FAILS(rotary_shift_int8(&view, NULL, NULL), ROTARY_INVALID_ARGUMENT, "by must not be NULL");
  view.strides[3] = 2;
  CHECK_FAILS(rotary_shift_int8(&view, by, NULL), ROTARY_INVALID_ARGUMENT, "adjacent");
  view.struct_size = 8;
  CHECK_FAILS(rotary_shift_int8(&view, by, NULL), ROTARY_INVALID_ARGUMENT, "keys.struct_size");
}

static void test_many_in_parts(const rotary_frequencies* frequencies) {
  enum { many = 70 };
  static float whole[many * features];
  static float parts[many * features];
  const int64_t extents[3] = {many, 1, features};
  rotary_heads_view one = view_of(whole, ROTARY_F32, extents);
  rotary_heads_view two = view_of(parts, ROTARY_F32, extents);
  const rotary_positions from = consecutive(5, many);
  const rotary_positions to = consecutive(0, many);
  const rotary_rotated_at start = standing(frequencies, &from);
  const rotary_rotated_at end = standing(frequencies, &to);
  int64_t count = 0;
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  rotary_rotations* by = NULL;
  executor.context = &count;
  executor.run = run_backwards;
  executor.concurrency = 8;
  fill(&one, 0.25);
  fill(&two, 0.25);
  CHECK_OK(rotary_shift_make(&start, &end, NULL, &by));
  CHECK_OK(rotary_shift(&one, by, NULL));
  CHECK_OK(rotary_shift(&two, by, &executor));
  CHECK(count == 2);
  CHECK(memcmp(whole, parts, sizeof whole) == 0);
  rotary_rotations_free(by);
}

static void test_refusals(const rotary_frequencies* frequencies, rotary_rotations* by) {
  const rotary_positions places = consecutive(0, tokens);
  const rotary_rotated_at good = standing(frequencies, &places);
  const rotary_rotated_at no_frequencies = standing(NULL, &places);
  const rotary_rotated_at no_positions = standing(frequencies, NULL);
  rotary_rotated_at unknown = good;
  rotary_rotations* made = by;
  struct {
    rotary_rotated_at at;
    char later;
  } newer = {good, 1};
  unknown.struct_size = 3;
  newer.at.struct_size = sizeof newer;
  CHECK_FAILS(rotary_shift_make(NULL, &good, NULL, &made), ROTARY_INVALID_ARGUMENT,
              "from must not be NULL");
  CHECK(made == NULL);
  CHECK_FAILS(rotary_shift_make(&good, NULL, NULL, &made), ROTARY_INVALID_ARGUMENT,
              "to must not be NULL");
  CHECK_FAILS(rotary_shift_make(&good, &good, NULL, NULL), ROTARY_INVALID_ARGUMENT,
              "out must not be NULL");
  CHECK_FAILS(rotary_shift_make(&no_frequencies, &good, NULL, &made), ROTARY_INVALID_ARGUMENT,
              "from.frequencies must not be NULL");
  CHECK_FAILS(rotary_shift_make(&good, &no_positions, NULL, &made), ROTARY_INVALID_ARGUMENT,
              "to.positions must not be NULL");
  CHECK_FAILS(rotary_shift_make(&unknown, &good, NULL, &made), ROTARY_INVALID_ARGUMENT,
              "from.struct_size");
  CHECK_FAILS(rotary_shift_make(&good, &newer.at, NULL, &made), ROTARY_UNSUPPORTED, "to");
  CHECK_FAILS(rotary_shift_remake(NULL, &good, &good), ROTARY_INVALID_ARGUMENT,
              "rotations must not be NULL");
  CHECK_FAILS(rotary_shift_remake(by, NULL, &good), ROTARY_INVALID_ARGUMENT,
              "from must not be NULL");
  CHECK_FAILS(rotary_shift_remake(by, &good, NULL), ROTARY_INVALID_ARGUMENT, "to must not be NULL");
  CHECK_FAILS(rotary_shift(NULL, by, NULL), ROTARY_INVALID_ARGUMENT, "keys must not be NULL");
}

void test_shift(void) {
  rotary_frequencies* frequencies = frequencies_of(spec);
  const rotary_positions from = consecutive(1000, tokens);
  const rotary_positions to = consecutive(20, tokens);
  const rotary_rotated_at start = standing(frequencies, &from);
  const rotary_rotated_at end = standing(frequencies, &to);
  rotary_rotations* by = NULL;
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  CHECK_OK(rotary_shift_make(&end, &start, NULL, &by));
  CHECK_OK(rotary_shift_remake(by, &start, &end));
  CHECK_OK(rotary_rotations_rows(by, &rows));
  CHECK(rows.tokens == tokens && rows.token_stride == 0 && rows.batch_stride == 0);
  test_float_keys(frequencies, by);
  test_int8_keys(by);
  test_many_in_parts(frequencies);
  test_refusals(frequencies, by);
  rotary_rotations_free(by);
  rotary_frequencies_free(frequencies);
}
