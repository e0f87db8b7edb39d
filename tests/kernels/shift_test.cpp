// SPDX-License-Identifier: Apache-2.0
// Shifted cached keys against the difference of the two angles in MPFR: every dtype, pairing and
// layout, far positions, other frequencies, pages; one row if one serves all.
#include "rotary/shift.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/tensor.hpp"
#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/contract.hpp"
#include "support/executors.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using reference::RotatedHead;
using test::Layout;
using test::Tensor;

constexpr Extents extents{.batch = 2, .tokens = 5, .heads = 3, .features = 46};

HeadWindow window_with(Pairing pairing) {
  return {.head_dim = 46, .rotary_dim = 38, .first_feature = 3, .pairing = pairing};
}

// The window of rotated keys in a cache.
HeadWindow cached(HeadWindow window) {
  if (window.pairing.get() == Pairing::interleaved_to_half) window.pairing = Pairing::half;
  return window;
}

// The same window for base 10000, stretched and with another attention factor.
Frequencies stretched(const Frequencies& frequencies, double attention_factor) {
  std::vector<double> inv_freq = frequencies.inv_freq;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    inv_freq[i] *= 1 - 0.06 * static_cast<double>(i);
  }
  return test::value_of(make_frequencies(frequencies.window, inv_freq, attention_factor));
}

double factor_of(const RotatedAt& from, const RotatedAt& to) {
  return to.frequencies.attention_factor / from.frequencies.attention_factor;
}

// The position of a head's bounds.
using Distance = long double (*)(long double from, long double to);
long double both(long double from, long double to) { return shift_position_bound(from, to); }
long double apart(long double from, long double to) { return std::abs(to - from); }

testing::AssertionResult shifted_within_bound(const ConstHeadsView& got, const ConstHeadsView& src,
                                              const RotatedAt& from, const RotatedAt& to,
                                              Distance distance = both) {
  const HeadWindow window = cached(from.frequencies.window);
  const reference::AngleRows rows({from.positions, from.frequencies.inv_freq},
                                  {to.positions, to.frequencies.inv_freq});
  test::Rotated by{.dtype = src.dtype, .attention_factor = factor_of(from, to)};
  testing::AssertionResult result = testing::AssertionSuccess();
  const auto compare = [&](const RotatedHead& head) {
    const auto& [batch, token, h] = head.index;
    by.position = distance(reference::position_at(from.positions, batch, token),
                           reference::position_at(to.positions, batch, token));
    for (std::int64_t pair = 0; pair < window.pairs() && result; ++pair) {
      const auto [x, y] = test::features_read(window, Direction::forward, pair);
      const auto at = test::pair_error(
          by, {reference::element(got, head.index, x), reference::element(got, head.index, y)},
          {head.exact[static_cast<std::size_t>(x)], head.exact[static_cast<std::size_t>(y)]});
      if (at.units <= at.bound) continue;
      result = testing::AssertionFailure() << at.units << " units, bound " << at.bound << ": batch "
                                           << batch << " token " << token << " pair " << pair;
    }
    for (std::int64_t f = 0; f < window.head_dim && result; ++f) {
      if (test::turns(window, f)) continue;
      if (reference::element(got, head.index, f) == reference::element(src, head.index, f))
        continue;
      result = testing::AssertionFailure() << "feature " << f << " should stay";
    }
  };
  for_each_rotated_head(src, rows, {.window = window, .attention_factor = by.attention_factor},
                        compare);
  return result;
}

TEST(Shift, ByOneDistanceInEveryLayout) {
  const Positions old_positions = ConsecutivePositions{.first = 1000, .tokens = 5};
  const Positions new_positions = ConsecutivePositions{.first = 493, .tokens = 5};
  for (const Pairing pairing : all_pairings) {
    const Frequencies frequencies = test::frequencies_of(window_with(pairing), 1.25);
    const RotatedAt from{frequencies, old_positions};
    const RotatedAt to{frequencies, new_positions};
    for (const DType dtype : test::all_dtypes) {
      const Rotations by = test::value_of(make_shift(from, to, {.rows = test::rows_for(dtype)}));
      EXPECT_EQ(by.row_stride(), 0);
      const Tensor values = test::random_tensor({.dtype = dtype, .extents = extents}, 50);
      for (const Layout layout : test::all_layouts) {
        SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
        SCOPED_TRACE(to_string(layout));
        const Tensor src = moved_to(layout, values);
        Tensor keys = src;
        test::require(shift(keys.view(), by));
        ASSERT_TRUE(shifted_within_bound(keys.view(), src.view(), from, to, apart));
        ASSERT_TRUE(keys.guards_intact());
        Tensor at_once = src;
        test::require(shift(at_once.view(), from, to));
        ASSERT_EQ(at_once.bytes(), keys.bytes());
      }
    }
  }
}

// Base change, a longer context: the same positions under other frequencies, A'/A once.
TEST(Shift, ToOtherFrequencies) {
  const std::array<std::int32_t, 10> places = {0, 1, 2, 3, 4, 7, 100000, -5, 12, 2147483647};
  const Positions positions = positions_of(places, 2);
  for (const Pairing pairing : all_pairings) {
    const Frequencies short_context = test::frequencies_of(window_with(pairing), 0.8);
    const Frequencies long_context = stretched(short_context, 1.5);
    const RotatedAt from{short_context, positions};
    const RotatedAt to{long_context, positions};
    for (const DType dtype : test::all_dtypes) {
      SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
      const Rotations by = test::value_of(make_shift(from, to, {.rows = test::rows_for(dtype)}));
      EXPECT_EQ(by.row_stride(), 2 * by.lane_stride());
      EXPECT_EQ(by.attention_factor(), 1.5 / 0.8);
      const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 51);
      Tensor keys = src;
      test::require(shift(keys.view(), by));
      ASSERT_TRUE(shifted_within_bound(keys.view(), src.view(), from, to));
    }
  }
}

// Far from the origin the bound depends on the distance under one set of frequencies, on the
// positions otherwise. Also doubles between integers, moved by a fraction.
TEST(Shift, FarAndBetweenIntegers) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half));
  const Frequencies negative = stretched(frequencies, 1);  // the last pairs turn by -φ
  const std::array<std::int64_t, 5> far = {1000000, std::int64_t{1} << 33, -(std::int64_t{1} << 40),
                                           INT64_MAX, INT64_MIN};
  std::array<std::int64_t, 5> moved{};
  for (std::size_t i = 0; i < far.size(); ++i) moved[i] = far[i] + (far[i] > 0 ? -37 : 41);
  const std::array<double, 5> between = {0.5, -3.25, 1e6 + 0.125, 0x1p33 + 0.5, 0};
  const std::array<double, 5> on = {7.5, 0.75, 3.7, 0x1p33 - 6.5, -0.5};
  const std::array<double, 5> parts = {0.5, 1.25, -0.5, 2, 7.75};  // their whole numbers stay
  const std::array<double, 5> other_parts = {0.75, 1.25, 0.5, 2, 7.25};
  const Positions from_parts = positions_of(parts);
  const Positions to_parts = positions_of(other_parts);
  const Positions from_far = positions_of(far);
  const Positions to_far = positions_of(moved);
  const Positions from_between = positions_of(between);
  const Positions to_between = positions_of(on);
  for (const DType dtype : test::all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 52);
    const auto accepts = [&](const RotatedAt& from, const RotatedAt& to, Distance distance) {
      Tensor keys = src;
      test::require(shift(keys.view(), from, to));
      return shifted_within_bound(keys.view(), src.view(), from, to, distance);
    };
    EXPECT_TRUE(accepts({frequencies, from_far}, {frequencies, to_far}, apart));
    EXPECT_TRUE(accepts({frequencies, from_far}, {negative, to_far}, both));
    EXPECT_TRUE(accepts({frequencies, from_between}, {frequencies, to_between}, both));
    EXPECT_TRUE(accepts({frequencies, from_between}, {negative, to_between}, both));
    EXPECT_TRUE(accepts({frequencies, from_parts}, {frequencies, to_parts}, both));
    EXPECT_TRUE(accepts({negative, from_far}, {frequencies, to_between}, both));
  }
}

// The purpose of shift: rotated and then shifted keys are those of the new position. The errors of
// two roundings add up; the first one is rotated, which at most moves it between components.
TEST(Shift, OfRotatedKeysIsTheRotationOfTheNewPlace) {
  const Positions old_positions = ConsecutivePositions{.first = 70000, .tokens = 5};
  const Positions new_positions = ConsecutivePositions{.first = 120, .tokens = 5};
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window = window_with(pairing);
    const Frequencies old_ones = test::frequencies_of(window, 1.25);
    const Frequencies new_ones = stretched(old_ones, 0.75);
    const reference::AngleRows rows(new_positions, new_ones.inv_freq);
    for (const DType dtype : test::all_dtypes) {
      SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
      const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 53);
      Tensor keys = src;
      const RowDType rows_dtype = test::rows_for(dtype);
      test::require(rotate(keys.view(), keys.view(),
                           test::rotations_of(old_ones, old_positions, rows_dtype)));
      test::require(shift(keys.view(), {old_ones, old_positions}, {new_ones, new_positions}));
      for_each_rotated_head(
          src.view(), rows, {.window = window, .attention_factor = 0.75},
          [&](const RotatedHead& head) {
            for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
              const auto [x, y] = test::features_written(window, Direction::forward, pair);
              const std::array exact = {head.exact[static_cast<std::size_t>(x)],
                                        head.exact[static_cast<std::size_t>(y)]};
              const long double hypot = std::hypot(exact[0], exact[1]);
              const double first = test::error_bound(
                  {.dtype = dtype, .attention_factor = 1.25, .position = 70005}, hypot / 0.6L);
              const test::Rotated by{
                  .dtype = dtype, .attention_factor = 0.75 / 1.25, .position = 70005 + 125};
              const double turned = std::sqrt(2.0) * first;
              const double bound =
                  turned + test::error_bound(by, hypot) * (1 + turned * test::error_unit(dtype));
              const auto at =
                  test::pair_error(by, {keys.at(head.index, x), keys.at(head.index, y)}, exact);
              ASSERT_LE(at.units, bound) << "pair " << pair << " token " << head.index.token;
            }
          });
    }
  }
}

// A page is a batch row: the positions of its slots are [pages][slots].
TEST(Shift, OfPagesWithPlacesOfTheirOwn) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::interleaved));
  constexpr std::int64_t pages = 4;
  constexpr std::int64_t slots = 8;
  std::vector<std::int64_t> old_places;
  std::vector<std::int64_t> new_places;
  for (const std::int64_t page : {3, 0, 2, 9}) {
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      old_places.push_back(page * slots + slot);
      new_places.push_back(page * slots + slot - (page >= 2 ? 2 * slots : 0));
    }
  }
  const Positions old_positions = positions_of(old_places, pages);
  const Positions new_positions = positions_of(new_places, pages);
  const Tensor src =
      test::random_tensor({.dtype = DType::bf16,
                           .extents = {.batch = pages, .tokens = slots, .heads = 3, .features = 46},
                           .layout = Layout::bhtd},
                          54);
  Tensor keys = src;
  const RotatedAt from{frequencies, old_positions};
  const RotatedAt to{frequencies, new_positions};
  test::require(shift(keys.view(), from, to));
  EXPECT_TRUE(shifted_within_bound(keys.view(), src.view(), from, to, apart));
  const Rotations back = test::value_of(make_shift(to, from));
  EXPECT_EQ(back.batch(), pages);
  EXPECT_NE(back.row_stride(), 0);
}

// If one token moves by another distance, each token has a row, with the bits of the single row. A
// batch of 1 goes with any.
TEST(Shift, OneRowHasTheBitsOfEach) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half), 1.5);
  const std::array<std::int64_t, 4> old_places = {10, 11, 12, 13};
  const std::array<std::int64_t, 8> as_one = {3, 4, 5, 6, 3, 4, 5, 6};
  const std::array<std::int64_t, 8> mixed = {3, 4, 5, 6, 3, 4, 5, 7};
  const std::array<double, 4> halves = {10.5, 11.5, 12.5, 13.5};
  const std::array<double, 4> moved_halves = {3.5, 4.5, 5.5, 6.5};
  for (const RowDType rows : test::all_row_dtypes) {
    const auto made = [&](const Positions& from, const Positions& to) {
      return test::value_of(make_shift({frequencies, from}, {frequencies, to}, {.rows = rows}));
    };
    const Rotations one = made(positions_of(old_places), positions_of(as_one, 2));
    const Rotations each = made(positions_of(old_places), positions_of(mixed, 2));
    const Rotations fractions = made(positions_of(halves), positions_of(moved_halves));
    EXPECT_EQ(one.row_stride(), 0);
    EXPECT_EQ(fractions.row_stride(), 0);
    EXPECT_EQ(each.row_stride(), 2 * each.lane_stride());
    ASSERT_EQ(one.batch(), 2);
    for (std::int64_t t = 0; t < 4; ++t) {
      EXPECT_EQ(test::row_bits(one, t % 2, t), test::row_bits(each, 0, t));
      EXPECT_EQ(test::row_bits(fractions, 0, t), test::row_bits(each, 0, t));
    }
    EXPECT_NE(test::row_bits(one, 1, 3), test::row_bits(each, 1, 3));
  }
}

// From 11.75 to -0.25 is a whole number of positions, though no part of a position is the same.
TEST(Shift, OneRowServesMovesAcrossZero) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half), 1.5);
  const std::array<double, 5> after = {11.75, 12.75, 14.75, 13, 11.875};
  const std::array<double, 5> across = {-0.25, 0.75, 2.75, 1, -0.125};
  const Tensor src = test::random_tensor({.dtype = DType::f64, .extents = extents}, 55);
  for (const auto& [old_places, new_places] :
       {std::pair(after, across), std::pair(across, after)}) {
    const RotatedAt from{frequencies, positions_of(old_places)};
    const RotatedAt to{frequencies, positions_of(new_places)};
    EXPECT_EQ(test::value_of(make_shift(from, to)).row_stride(), 0);
    Tensor keys = src;
    test::require(shift(keys.view(), from, to));
    EXPECT_TRUE(shifted_within_bound(keys.view(), src.view(), from, to, apart));
  }
}

// A stride of 0 repeats one position for any count of tokens, without a loop over them.
TEST(Shift, OfOnePositionForAllTokens) {
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

// The same row given once for each token, as a CosSinView.
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

// One row stays in registers over many tokens: another loop, the same bits, in every layout.
TEST(Shift, ByOneRowHasTheBitsOfARowForEach) {
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

TEST(Shift, IsUndoneByTheInverse) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half));
  const Rotations by =
      test::value_of(make_shift({frequencies, ConsecutivePositions{.first = 9, .tokens = 5}},
                                {frequencies, ConsecutivePositions{.first = 2, .tokens = 5}}));
  const Tensor src = test::random_tensor({.dtype = DType::f32, .extents = extents}, 55);
  Tensor keys = src;
  test::require(shift(keys.view(), by));
  test::require(rotate(keys.view(), keys.view(), by, {.direction = Direction::inverse}));
  test::for_each_element(extents, [&](const test::HeadIndex& index, std::int64_t f) {
    ASSERT_NEAR(keys.at(index, f), src.at(index, f), 4 * 2 * 3 * 0x1p-24 * std::sqrt(2.0) * 2);
  });
}

TEST(Shift, InPartsHasTheSameBits) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::interleaved));
  const Frequencies other = stretched(frequencies, 2);
  const ConsecutivePositions positions{.first = 5, .tokens = 67};
  const Rotations by = test::value_of(make_shift({frequencies, positions}, {other, positions}));
  const Tensor src = test::random_tensor(
      {.dtype = DType::f16, .extents = {.batch = 2, .tokens = 67, .heads = 2, .features = 46}}, 56);
  Tensor whole = src;
  Tensor parts = src;
  test::CountingExecutor executor(test::run_backwards, 3);
  test::require(shift(whole.view(), by));
  test::require(shift(parts.view(), by, {.executor = executor.executor()}));
  EXPECT_EQ(executor.tasks(), 3);
  EXPECT_EQ(whole.bytes(), parts.bytes());
}

}  // namespace
}  // namespace rotary
