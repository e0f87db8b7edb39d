// SPDX-License-Identifier: Apache-2.0
// One row serves all tokens that move by the same distance. The fuzz target shift compares rows and
// keys with the reference.
#include "rotary/shift.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

HeadWindow window_with(Pairing pairing) {
  return {.head_dim = 46, .rotary_dim = 38, .first_feature = 3, .pairing = pairing};
}

// From 11.75 to -0.25 is an integer distance, though the fractions differ.
TEST(Shift, OneRowServesMovesAcrossZero) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half), 1.5);
  const std::array<double, 5> after = {11.75, 12.75, 14.75, 13, 11.875};
  const std::array<double, 5> across = {-0.25, 0.75, 2.75, 1, -0.125};
  for (const auto& [old_places, new_places] :
       {std::pair(after, across), std::pair(across, after)}) {
    const RotatedAt from{frequencies, positions_of(old_places)};
    const RotatedAt to{frequencies, positions_of(new_places)};
    EXPECT_EQ(test::value_of(make_shift(from, to)).row_stride(), 0);
  }
}

// A stride of 0 repeats one position without a loop over the tokens.
TEST(Shift, OnePositionServesAnyNumberOfTokens) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half));
  const std::int64_t old_place = 10;
  const std::int64_t new_place = 3;
  const auto all_at = [](const std::int64_t& place) {
    return TokenArray<std::int64_t>{
        .data = &place, .tokens = std::int64_t{1} << 50, .token_stride = 0};
  };
  const Rotations by = test::value_of(
      make_shift({frequencies, all_at(old_place)}, {frequencies, all_at(new_place)}));
  EXPECT_EQ(by.row_stride(), 0);
  EXPECT_EQ(by.tokens(), std::int64_t{1} << 50);
}

// Rotations that repeat the shared row for each token.
Rotations with_a_row_for_each(const Rotations& one, std::int64_t tokens) {
  const auto pairs = static_cast<std::size_t>(one.window().pairs());
  std::vector<double> cos;
  std::vector<double> sin;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const bool wide = one.row_dtype() == RowDType::f64;
      cos.push_back(wide ? one.cos<double>(0, t)[i] : double{one.cos(0, t)[i]});
      sin.push_back(wide ? one.sin<double>(0, t)[i] : double{one.sin(0, t)[i]});
    }
  }
  return test::value_of(make_rotations(one.window(),
                                       {.cos = cos.data(),
                                        .sin = sin.data(),
                                        .dtype = DType::f64,
                                        .tokens = tokens,
                                        .token_stride = one.window().pairs()},
                                       {.rows = one.row_dtype()}));
}

// A separate loop keeps a shared row in registers over many tokens. Its bits must not differ.
TEST(Shift, ASharedRowRotatesLikeARowForEachToken) {
  constexpr std::int64_t tokens = 37;
  for (const Pairing pairing : test::order_keeping_pairings) {
    const Frequencies frequencies = test::frequencies_of(window_with(pairing));
    const RotatedAt from{frequencies, ConsecutivePositions{.first = 77, .tokens = tokens}};
    const RotatedAt to{frequencies, ConsecutivePositions{.first = 5, .tokens = tokens}};
    for (const DType dtype : test::all_dtypes) {
      SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
      const Rotations one = test::value_of(make_shift(from, to, {.rows = test::rows_for(dtype)}));
      const Rotations each = with_a_row_for_each(one, tokens);
      ASSERT_EQ(one.row_stride(), 0);
      ASSERT_NE(each.row_stride(), 0);
      const Extents many{.batch = 2, .tokens = tokens, .heads = 3, .features = 46};
      const Tensor values = test::random_tensor({.dtype = dtype, .extents = many}, 57);
      for (const Layout layout : test::all_layouts) {
        SCOPED_TRACE(to_string(layout));
        Tensor by_one = moved_to(layout, values);
        Tensor by_each = by_one;
        test::require(shift(by_one.view(), one));
        test::require(shift(by_each.view(), each));
        ASSERT_EQ(by_one.bytes(), by_each.bytes());
        Tensor elsewhere({.dtype = dtype, .extents = many, .layout = Layout::bhtd});
        const Tensor src = moved_to(layout, values);
        test::require(rotate(elsewhere.view(), src.view(), one));
        ASSERT_EQ(elsewhere.all_bits(), by_one.all_bits());
      }
    }
  }
}

}  // namespace
}  // namespace rotary
