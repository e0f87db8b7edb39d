// SPDX-License-Identifier: Apache-2.0
// In place, interleaved_to_half uses a buffer, in blocks of 256 pairs for long heads. The bits must
// be those of rotation into another tensor, for lengths around multiples of a block, for the
// longest head, and for more heads than the buffer holds.
#include <gtest/gtest.h>

#include <string>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

HeadWindow window_with(std::int64_t pairs, Pairing pairing) {
  return {
      .head_dim = 2 * pairs + 3, .rotary_dim = 2 * pairs, .first_feature = 1, .pairing = pairing};
}

Tensor rotated(const Tensor& src, const Rotations& rotations, Direction direction) {
  Tensor dst({.dtype = src.view().dtype, .extents = src.extents()});
  test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
  return dst;
}

void expect_same_in_place(std::int64_t pairs, DType dtype, std::int64_t heads = 2) {
  SCOPED_TRACE(std::to_string(pairs) + " pairs, " + std::string(to_string(dtype)));
  const HeadWindow window = window_with(pairs, Pairing::interleaved_to_half);
  const Extents extents{.tokens = 2, .heads = heads, .features = window.head_dim};
  const Rotations rotations =
      test::rotations_of(test::frequencies_of(window, 1.25),
                         ConsecutivePositions{.first = 9, .tokens = 2}, test::rows_for(dtype));
  const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 81);
  for (const Direction direction : test::all_directions) {
    SCOPED_TRACE(test::describe(dtype, Pairing::interleaved_to_half, direction));
    const Tensor wanted = rotated(src, rotations, direction);
    for (const Layout layout : {Layout::bthd, Layout::every_second_feature, Layout::reversed}) {
      Tensor in_place = moved_to(layout, src);
      const HeadsView view = in_place.view();
      test::require(rotate(view, view, rotations, {.direction = direction}));
      ASSERT_EQ(in_place.all_bits(), wanted.all_bits()) << to_string(layout);
      ASSERT_TRUE(in_place.guards_intact());
    }
  }
}

TEST(RotateReorder, HasTheSameBitsInPlaceAroundMultiplesOfABlock) {
  for (const std::int64_t pairs : {1, 2, 3, 5, 32, 255, 256, 257, 258, 511, 512, 513, 515, 1027}) {
    for (const DType dtype : test::all_dtypes) expect_same_in_place(pairs, dtype);
  }
}

TEST(RotateReorder, HasTheSameBitsInPlaceForManyHeads) {
  for (const std::int64_t heads : {1, 31, 32, 33, 63, 64, 65, 130}) {
    for (const DType dtype : test::all_dtypes) expect_same_in_place(32, dtype, heads);
  }
}

TEST(RotateReorder, HasTheSameBitsInPlaceForTheLongestHead) {
  constexpr std::int64_t longest = (std::int64_t{1} << 16) / 2 - 2;
  expect_same_in_place(longest, DType::bf16);
}

TEST(RotateReorder, RotatesLikeInterleavedThenPermutes) {
  constexpr std::int64_t pairs = 37;
  const HeadWindow to_half = window_with(pairs, Pairing::interleaved_to_half);
  const HeadWindow neighbours = window_with(pairs, Pairing::interleaved);
  const ConsecutivePositions positions{.first = 1000, .tokens = 3};
  for (const DType dtype : test::all_dtypes) {
    const Tensor src = test::random_tensor(
        {.dtype = dtype, .extents = {.tokens = 3, .heads = 2, .features = to_half.head_dim}}, 82);
    const auto with = [&](const HeadWindow& window) {
      return rotated(
          src, test::rotations_of(test::frequencies_of(window), positions, test::rows_for(dtype)),
          Direction::forward);
    };
    const Tensor permuted = with(to_half);
    const Tensor in_order = with(neighbours);
    test::for_each_element(src.extents(), [&](const test::HeadIndex& index, std::int64_t f) {
      const std::int64_t i = f - 1;
      const bool turns = i >= 0 && i < 2 * pairs;
      const std::int64_t to = turns ? 1 + (i % 2) * pairs + i / 2 : f;
      ASSERT_EQ(permuted.bits_at(index, to), in_order.bits_at(index, f)) << "feature " << f;
    });
  }
}

// Rotates at position 0, where the round trip is exact.
TEST(RotateReorder, InverseRestoresTheOrder) {
  for (const std::int64_t pairs : {19, 300}) {
    const HeadWindow window = window_with(pairs, Pairing::interleaved_to_half);
    const Rotations rotations = test::rotations_of(test::frequencies_of(window),
                                                   ConsecutivePositions{.first = 0, .tokens = 1});
    const Tensor src = test::random_tensor(
        {.extents = {.tokens = 1, .heads = 3, .features = window.head_dim}}, 83);
    for (const Direction back : {Direction::inverse, Direction::transpose}) {
      const Tensor there = rotated(src, rotations, Direction::forward);
      EXPECT_NE(there.all_bits(), src.all_bits());
      EXPECT_EQ(rotated(there, rotations, back).all_bits(), src.all_bits());
      Tensor in_place = src;
      test::require(rotate(in_place.view(), in_place.view(), rotations));
      test::require(rotate(in_place.view(), in_place.view(), rotations, {.direction = back}));
      EXPECT_EQ(in_place.all_bits(), src.all_bits());
    }
  }
}

}  // namespace
}  // namespace rotary
