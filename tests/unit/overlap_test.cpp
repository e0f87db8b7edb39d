// SPDX-License-Identifier: Apache-2.0
// Views that share a buffer, with the sizes of real models. The fuzz target `views` checks small
// views of any strides against a list of their addresses.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"

namespace rotary {
namespace {

// A fused projection stores q, k and v of a token side by side.
TEST(Overlap, SlotsOfAFusedProjectionDoNotOverlap) {
  constexpr std::int64_t heads = 32;
  constexpr std::int64_t tokens = 64;
  constexpr Extents extents{.batch = 2, .tokens = tokens, .heads = heads, .features = 128};
  constexpr std::int64_t slot = heads * 128;
  constexpr Strides strides{.batch = tokens * 3 * slot, .token = 3 * slot, .head = 128};
  std::vector<float> buffer(static_cast<std::size_t>(2 * tokens * 3 * slot));
  const HeadWindow window{
      .head_dim = 128, .rotary_dim = 128, .first_feature = 0, .pairing = Pairing::half};
  const Rotations rotations = test::rotations_of(
      test::frequencies_of(window), ConsecutivePositions{.first = 0, .tokens = tokens});
  const HeadsView q{buffer.data(), DType::f32, extents, strides};
  const HeadsView k{buffer.data() + slot, DType::f32, extents, strides};
  EXPECT_TRUE(rotate_qk(q, k, rotations));
  for (const std::int64_t shift : {slot - 1, slot, slot + 1, 2 * slot, 2 * slot + 1}) {
    const HeadsView shifted{buffer.data() + shift,
                            DType::f32,
                            {.batch = 1, .tokens = tokens - 1, .heads = heads, .features = 128},
                            strides};
    const bool apart = shift >= slot && shift <= 2 * slot;
    HeadsView shorter = q;
    shorter.extents = shifted.extents;
    const Rotations fewer = test::rotations_of(
        test::frequencies_of(window), ConsecutivePositions{.first = 0, .tokens = tokens - 1});
    EXPECT_EQ(rotate(shorter, shifted, fewer).ok(), apart) << "shifted by " << shift;
  }
}

// The stride of an axis with one index is never used. Two views of the same single head thus count
// as in place, whatever their strides.
TEST(Overlap, StridesOfAxesWithOneIndexAreIgnored) {
  const HeadWindow window{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::half};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window),
                                                 ConsecutivePositions{.first = 3, .tokens = 1});
  const Extents extents{.batch = 1, .tokens = 1, .heads = 1, .features = 4};
  std::vector<float> once{1, 2, 3, 4};
  std::vector<float> twice = once;
  const HeadsView plain{once.data(), DType::f32, extents, strides_bthd(extents)};
  ASSERT_TRUE(rotate(plain, plain, rotations));
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  const Strides other{.batch = highest, .token = -highest, .head = highest, .feature = 1};
  EXPECT_TRUE(rotate({twice.data(), DType::f32, extents, strides_bthd(extents)},
                     {twice.data(), DType::f32, extents, other}, rotations));
  EXPECT_EQ(twice, once);
}

}  // namespace
}  // namespace rotary
