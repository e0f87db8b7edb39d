// SPDX-License-Identifier: Apache-2.0
// Compiled programs keep working: members keep their offsets.
#include <gtest/gtest.h>

#include <cstddef>

#include "rotary/rotary.h"
#include "rotary/rotary_kv_cache.h"

namespace rotary {
namespace {

TEST(CLayout, OffsetsOfVersion1StayTheSame) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "the numbers are those of 64-bit machines";
  EXPECT_EQ(offsetof(rotary_heads_view, data), 8U);
  EXPECT_EQ(offsetof(rotary_heads_view, dtype), 16U);
  EXPECT_EQ(offsetof(rotary_heads_view, extents), 24U);
  EXPECT_EQ(offsetof(rotary_heads_view, strides), 56U);
  EXPECT_EQ(offsetof(rotary_positions, kind), 8U);
  EXPECT_EQ(offsetof(rotary_positions, first), 16U);
  EXPECT_EQ(offsetof(rotary_positions, data), 24U);
  EXPECT_EQ(offsetof(rotary_positions, batch), 32U);
  EXPECT_EQ(offsetof(rotary_positions, token_stride), 56U);
  EXPECT_EQ(offsetof(rotary_rotated_at, positions), 16U);
  EXPECT_EQ(offsetof(rotary_int8_view, scales), 16U);
  EXPECT_EQ(offsetof(rotary_int8_view, extents), 24U);
  EXPECT_EQ(offsetof(rotary_int8_view, scale_strides), 88U);
  EXPECT_EQ(offsetof(rotary_resolve_options, context_tokens), 16U);
  EXPECT_EQ(offsetof(rotary_resolve_options, numerics), 24U);
  EXPECT_EQ(offsetof(rotary_resolve_options, part), 28U);
  EXPECT_EQ(offsetof(rotary_byte_source, context), 8U);
  EXPECT_EQ(offsetof(rotary_byte_source, size_bytes), 24U);
  EXPECT_EQ(offsetof(rotary_window, first_feature), 24U);
  EXPECT_EQ(offsetof(rotary_window, pairing), 32U);
  EXPECT_EQ(offsetof(rotary_axis_frequencies, pair_axes), 16U);
  EXPECT_EQ(offsetof(rotary_axis_frequencies, count), 32U);
  EXPECT_EQ(offsetof(rotary_rotations_options, memory), 16U);
  EXPECT_EQ(offsetof(rotary_cos_sin, sin), 16U);
  EXPECT_EQ(offsetof(rotary_cos_sin, dtype), 24U);
  EXPECT_EQ(offsetof(rotary_cos_sin, attention_factor), 72U);
  EXPECT_EQ(offsetof(rotary_executor, run), 16U);
  EXPECT_EQ(offsetof(rotary_executor, concurrency), 24U);
  EXPECT_EQ(offsetof(rotary_rotate_options, executor), 16U);
  EXPECT_EQ(offsetof(rotary_kv, v), 16U);
  EXPECT_EQ(offsetof(rotary_int8_kv, v), 16U);
  EXPECT_EQ(offsetof(rotary_slots, data), 24U);
  EXPECT_EQ(offsetof(rotary_slots, token_stride), 56U);
  EXPECT_EQ(offsetof(rotary_head_norm, epsilon), 32U);
  EXPECT_EQ(offsetof(rotary_append_options, k_norm_order), 24U);
}

TEST(CLayout, OffsetsOfLaterMembersStayTheSame) {
  if (sizeof(void*) != 8) GTEST_SKIP() << "the numbers are those of 64-bit machines";
  EXPECT_EQ(offsetof(rotary_positions, axes), 64U);
  EXPECT_EQ(offsetof(rotary_positions, axis_stride), 72U);
  EXPECT_EQ(offsetof(rotary_window, blocks), 40U);
  EXPECT_EQ(offsetof(rotary_rotations_options, tensors), 32U);
  EXPECT_EQ(offsetof(rotary_rotations_options, reserved_end), 36U);
  EXPECT_EQ(sizeof(rotary_rotations_options), 40U);
}

}  // namespace
}  // namespace rotary
