/* SPDX-License-Identifier: Apache-2.0 */
/* Rotated queries and keys against cos and sin of long double. */
#include <string.h>

#include "check.h"
#include "fixtures.h"

static const char partial_spec[] =
    "{\"head_dim\": 10, \"rotary_dim\": 6, \"first_feature\": 3, \"base\": 10000,"
    " \"pairing\": \"interleaved\"}";
static const char whole_spec[] = "{\"head_dim\": 10, \"base\": 500000, \"pairing\": \"half\"}";

enum { tokens = 3, heads = 2, features = 10, elements = tokens * heads * features };
static const int64_t extents[3] = {tokens, heads, features};
static const double at_40[tokens] = {40, 41, 42};

static void test_in_place(const char* spec, int32_t dtype) {
  double q[elements], k[elements], q_before[elements], k_before[elements];
  rotary_heads_view q_view = view_of(q, dtype, extents);
  rotary_heads_view k_view = view_of(k, dtype, extents);
  const rotary_heads_view q_original = view_of(q_before, dtype, extents);
  const rotary_heads_view k_original = view_of(k_before, dtype, extents);
  rotary_frequencies* const frequencies = frequencies_of(spec);
  rotary_rotations* const rotations =
      rotations_of(frequencies, 40, tokens, dtype == ROTARY_F64 ? ROTARY_F64 : ROTARY_F32);
  const expected_rotation expected = {frequencies, at_40, 1};
  fill(&q_view, 1);
  fill(&k_view, 200);
  memcpy(q_before, q, sizeof q);
  memcpy(k_before, k, sizeof k);
  CHECK_OK(rotary_rotate_qk(&q_view, &k_view, rotations, NULL));
  check_rotated(&q_view, &q_original, &expected);
  check_rotated(&k_view, &k_original, &expected);

  /* One of them alone, the same view twice, gives the same bits. */
  CHECK_OK(rotary_rotate(&q_original, &q_original, rotations, NULL));
  CHECK(memcmp(q_before, q, (size_t)elements * (dtype == ROTARY_F64 ? 8 : 4)) == 0);
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

/* From [tokens, heads, features] into every second element of [heads, tokens, 2 * features]. */
static void test_strided(int32_t direction, double sign) {
  float src[elements], dst[2 * elements];
  rotary_heads_view from = view_of(src, ROTARY_F32, extents);
  rotary_heads_view to = view_of(dst, ROTARY_F32, extents);
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  rotary_frequencies* const frequencies = frequencies_of(partial_spec);
  rotary_rotations* const rotations = rotations_of(frequencies, 40, tokens, ROTARY_F32);
  const expected_rotation expected = {frequencies, at_40, sign};
  to.strides[1] = 2 * features;
  to.strides[2] = 2 * features * tokens;
  to.strides[3] = 2;
  options.direction = direction;
  fill(&from, 3);
  for (int i = 0; i < 2 * elements; ++i) dst[i] = -7;
  CHECK_OK(rotary_rotate(&to, &from, rotations, &options));
  check_rotated(&to, &from, &expected);
  for (int i = 1; i < 2 * elements; i += 2) CHECK(dst[i] == -7);
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

static void test_positions(int32_t kind, const void* data, const double* expected_positions) {
  float q[elements], before[elements];
  rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  const rotary_heads_view original = view_of(before, ROTARY_F32, extents);
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_rotations* rotations = NULL;
  rotary_frequencies* const frequencies = frequencies_of(whole_spec);
  const expected_rotation expected = {frequencies, expected_positions, 1};
  positions.kind = kind;
  positions.data = data;
  positions.tokens = tokens;
  positions.token_stride = 2;
  CHECK_OK(rotary_rotations_make(frequencies, &positions, NULL, &rotations));
  fill(&view, 5);
  memcpy(before, q, sizeof q);
  CHECK_OK(rotary_rotate(&view, &view, rotations, NULL));
  check_rotated(&view, &original, &expected);
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

/* One pair (1, 0) of f16 or bf16, rotated by 1 radian. */
static void test_narrow(int32_t dtype, uint16_t one) {
  uint16_t q[2] = {one, 0};
  const int64_t single[3] = {1, 1, 2};
  rotary_heads_view view = view_of(q, dtype, single);
  rotary_frequencies* const frequencies =
      frequencies_of("{\"head_dim\": 2, \"base\": 10000, \"pairing\": \"half\"}");
  rotary_rotations* const rotations = rotations_of(frequencies, 1, 1, ROTARY_F32);
  CHECK_OK(rotary_rotate(&view, &view, rotations, NULL));
  /* (cos 1, sin 1) = (0.5403, 0.8415), to nearest. */
  CHECK(q[0] == (dtype == ROTARY_BF16 ? 0x3F0A : 0x3853));
  CHECK(q[1] == (dtype == ROTARY_BF16 ? 0x3F57 : 0x3ABB));
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

void test_rotate(void) {
  static const int32_t int32[] = {0, -1, 17, -1, 900};
  static const int64_t int64[] = {-3, 99, 0, 99, 512};
  static const double f64[] = {0.5, 99, 17.25, 99, -3.125};
  static const double of_int32[] = {0, 17, 900};
  static const double of_int64[] = {-3, 0, 512};
  static const double of_f64[] = {0.5, 17.25, -3.125};
  test_in_place(whole_spec, ROTARY_F32);
  test_in_place(whole_spec, ROTARY_F64);
  test_in_place(partial_spec, ROTARY_F32);
  test_in_place(partial_spec, ROTARY_F64);
  test_strided(ROTARY_FORWARD, 1);
  test_strided(ROTARY_INVERSE, -1);
  test_strided(ROTARY_TRANSPOSE, -1);
  test_positions(ROTARY_POSITIONS_INT32, int32, of_int32);
  test_positions(ROTARY_POSITIONS_INT64, int64, of_int64);
  test_positions(ROTARY_POSITIONS_F64, f64, of_f64);
  test_narrow(ROTARY_BF16, 0x3F80);
  test_narrow(ROTARY_F16, 0x3C00);
}
