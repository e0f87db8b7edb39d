/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: in the caller's memory, remade into existing rotations, from existing cos and sin. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

static const char spec[] =
    "{\"head_dim\": 10, \"rotary_dim\": 6, \"first_feature\": 3, \"base\": 10000,"
    " \"pairing\": \"half\"}";

/* Whether two hold the same numbers: compared where rows say that they are. */
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

/* The spec sets the numerics, the options set the dtype that their table is rounded to. */
static void test_numerics(void) {
  rotary_frequencies* const frequencies = frequencies_of(
      "{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\","
      " \"numerics\": \"transformers\", \"rounding\": \"every_step\"}");
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_positions positions = consecutive(1, 1);
  rotary_rotations* rotations = NULL;
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  CHECK_FAILS(rotary_rotations_make(frequencies, &positions, &options, &rotations),
              ROTARY_INVALID_ARGUMENT, "tensors");
  options.tensors = 9;
  CHECK_FAILS(rotary_rotations_make(frequencies, &positions, &options, &rotations),
              ROTARY_INVALID_ARGUMENT, "got value 9");
  options.tensors = ROTARY_BF16;
  CHECK_OK(rotary_rotations_make(frequencies, &positions, &options, &rotations));
  CHECK_OK(rotary_rotations_rows(rotations, &rows));
  CHECK(((const float*)rows.cos)[0] == 0.5390625F); /* cos 1 = 0.54030…, as bf16 */
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

static void test_memory(const rotary_frequencies* frequencies) {
  static double memory[64];
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_positions positions = consecutive(7, 3);
  rotary_rotations* rotations = NULL;
  rotary_rotations* const own = rotations_of(frequencies, 7, 3, ROTARY_F32);
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  size_t bytes = 0;
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK_OK(rotary_row_bytes(&window, 1, 3, ROTARY_F32, &bytes));
  if (!CHECK(bytes > 0 && bytes <= sizeof memory)) return;
  options.memory = memory;
  options.memory_bytes = bytes - 1;
  CHECK_FAILS(rotary_rotations_make(frequencies, &positions, &options, &rotations),
              ROTARY_INVALID_ARGUMENT, "memory must hold");
  options.memory_bytes = bytes;
  CHECK_OK(rotary_rotations_make(frequencies, &positions, &options, &rotations));
  CHECK_OK(rotary_rotations_rows(rotations, &rows));
  CHECK(rows.cos == (const void*)memory);
  CHECK((const char*)rows.sin > (const char*)memory);
  CHECK((const char*)rows.sin < (const char*)memory + bytes);
  CHECK(same_rows(rotations, own));
  positions.tokens = 4;
  CHECK_FAILS(rotary_rotations_remake(rotations, frequencies, &positions), ROTARY_INVALID_ARGUMENT,
              "memory must hold");
  CHECK(same_rows(rotations, own));
  rotary_rotations_free(rotations);
  rotary_rotations_free(own);
}

static void test_remake(const rotary_frequencies* frequencies) {
  const rotary_positions later = consecutive(1000, 2);
  rotary_rotations* const rotations = rotations_of(frequencies, 0, 4, ROTARY_F64);
  rotary_rotations* const fresh = rotations_of(frequencies, 1000, 2, ROTARY_F64);
  CHECK(!same_rows(rotations, fresh));
  CHECK_OK(rotary_rotations_remake(rotations, frequencies, &later));
  CHECK(same_rows(rotations, fresh));
  rotary_rotations_free(rotations);
  rotary_rotations_free(fresh);
}

static void test_rows(const rotary_frequencies* frequencies) {
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  rotary_rotations* rotations = rotations_of(frequencies, 0, 2, ROTARY_F32);
  CHECK_OK(rotary_rotations_rows(rotations, &rows));
  CHECK(rows.struct_size == sizeof rows && rows.reserved == 0);
  CHECK(rows.dtype == ROTARY_F32 && rows.batch == 1 && rows.tokens == 2);
  CHECK(rows.pair_stride == 1 && rows.attention_factor == 1);
  for (int pair = 0; pair < 3; ++pair) { /* position 0 */
    CHECK(((const float*)rows.cos)[pair] == 1 && ((const float*)rows.sin)[pair] == 0);
  }
  rotary_rotations_free(rotations);

  rotations = rotations_of(frequencies, 0, 0, ROTARY_F64);
  CHECK_OK(rotary_rotations_rows(rotations, &rows));
  CHECK(rows.dtype == ROTARY_F64 && rows.tokens == 0 && rows.cos == NULL && rows.sin == NULL);
  rotary_rotations_free(rotations);
}

/* xPos of one pair, 512 positions from the center: 2/7 for the query, 7/2 for the key. */
static void test_roles(void) {
  rotary_frequencies* const frequencies = frequencies_of(
      "{\"head_dim\": 2, \"base\": 10000, \"pairing\": \"interleaved\", \"xpos\": {}}");
  const rotary_positions positions = consecutive(512, 1);
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_rotations* rotations = NULL;
  float q[2] = {1, 0};
  float k[2] = {1, 0};
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  const rotary_heads_view other = view_of(k, ROTARY_F32, extents);
  const int32_t roles[2] = {ROTARY_ROLE_QUERY, ROTARY_ROLE_KEY};
  CHECK_FAILS(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
              ROTARY_INVALID_ARGUMENT, "role must be query or key");
  for (int i = 0; i < 2; ++i) {
    rotary_rotate_options rotating = ROTARY_ROTATE_OPTIONS_INIT;
    const double wanted = i == 0 ? 2.0 / 7 : 7.0 / 2;
    options.role = roles[i];
    CHECK_OK(rotary_rotations_make(frequencies, &positions, &options, &rotations));
    q[0] = 1;
    q[1] = 0;
    CHECK_FAILS(rotary_rotate_qk(&view, &other, rotations, NULL), ROTARY_INVALID_ARGUMENT, "role");
    rotating.direction = ROTARY_INVERSE;
    CHECK_FAILS(rotary_rotate(&view, &view, rotations, &rotating), ROTARY_INVALID_ARGUMENT,
                "direction inverse");
    CHECK_OK(rotary_rotate(&view, &view, rotations, NULL));
    CHECK(fabs(hypot((double)q[0], (double)q[1]) - wanted) < 1e-6);
    rotary_rotations_free(rotations);
  }
  rotary_frequencies_free(frequencies);
}

static void test_of_cos_sin(const rotary_frequencies* frequencies, int32_t dtype) {
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_rotations* const made = rotations_of(frequencies, 30, 3, dtype);
  rotary_rotations* copied = NULL;
  options.rows = dtype;
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK_OK(rotary_rotations_rows(made, &rows));
  CHECK_OK(rotary_rotations_of_cos_sin(&window, &rows, &options, &copied));
  CHECK(same_rows(made, copied));
  rotary_rotations_free(copied);

  rows.attention_factor = 2; /* not the factor in cos and sin */
  copied = made;
  CHECK_FAILS(rotary_rotations_of_cos_sin(&window, &rows, &options, &copied),
              ROTARY_INVALID_ARGUMENT, "attention_factor");
  CHECK(copied == NULL);
  CHECK_FAILS(rotary_rotations_of_unchecked_cos_sin(&window, &rows, &options, &copied),
              ROTARY_INVALID_ARGUMENT, "attention_factor must be 1");
  rows.attention_factor = 1;
  rows.sin = rows.cos; /* no rotation */
  CHECK_FAILS(rotary_rotations_of_cos_sin(&window, &rows, &options, &copied),
              ROTARY_INVALID_ARGUMENT, "cos^2 + sin^2");
  CHECK_OK(rotary_rotations_of_unchecked_cos_sin(&window, &rows, &options, &copied));
  rotary_rotations_free(copied);
  rotary_rotations_free(made);
}

/* Two axes, by a list and by a spec; then dense ones, and what is refused. */
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
  rotary_rotations_free(one);
  rotary_rotations_free(other);
  rotary_frequencies_free(of_spec);
}

void test_rotations(void) {
  test_axes();
  rotary_frequencies* const frequencies = frequencies_of(spec);
  test_numerics();
  test_memory(frequencies);
  test_remake(frequencies);
  test_rows(frequencies);
  test_of_cos_sin(frequencies, ROTARY_F32);
  test_of_cos_sin(frequencies, ROTARY_F64);
  test_roles();
  rotary_frequencies_free(frequencies);
}
