// SPDX-License-Identifier: Apache-2.0
// Rows for positions on several axes, and shifts between such positions. The cos and sin of each
// pair are within the bound, and have the bits of rows on the pair's axis alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::all_row_bits;

Frequencies made_of(const RotarySpec& spec) { return test::value_of(make_frequencies(spec)); }

RotarySpec spec_of(std::int64_t head_dim, Axes axes, Pairing pairing = Pairing::half) {
  return {.head_dim = head_dim, .base = 10000.0, .pairing = pairing, .axes = std::move(axes)};
}

// SIMD vectors of these specs have lanes of one axis or of several axes, or are partial.
std::vector<RotarySpec> several_layouts() {
  using enum AxisArrangement;
  using enum AxisExponents;
  return {
      spec_of(128, {.pairs = {16, 24, 24}, .exponents = shared}),
      spec_of(128, {.pairs = {24, 20, 20}, .arrangement = interleaved, .exponents = shared}),
      spec_of(80, {.pairs = {20, 20}, .exponents = own}),
      spec_of(46, {.pairs = {11, 12}, .exponents = own, .order = {1, 0}}, Pairing::interleaved),
      spec_of(140, {.pairs = {20, 20, 30}, .arrangement = interleaved_then_last, .exponents = own}),
      spec_of(128, {.pairs = {16, 16, 16, 16},
                    .exponents = own,
                    .bases = {2e3, 1e4, 3e5, 7},
                    .scales = {1, -2, 0.5, 6.25}}),
      spec_of(34, {.pairs = {1, 2, 3, 4, 1, 2, 2, 2}, .exponents = own}),
  };
}

std::vector<Frequencies> several_frequencies() {
  std::vector<Frequencies> all;
  for (const RotarySpec& spec : several_layouts()) all.push_back(made_of(spec));
  all.front().attention_factor = 1.3465735902799727;
  return all;
}

// Frequencies for each axis and pair, like those that RoPE-ViT learns.
Frequencies dense_frequencies(std::int64_t axes, std::int64_t pairs) {
  test::Random random(23);
  std::vector<double> inv_freq(static_cast<std::size_t>(axes * pairs));
  for (double& each : inv_freq) each = random.magnitude(-20, 3);
  const HeadWindow window{.head_dim = 2 * pairs, .rotary_dim = 2 * pairs, .pairing = Pairing::half};
  return test::value_of(make_frequencies(window, inv_freq, 1.25, {.count = axes}));
}

// [axes][tokens]: a grid row by row, with distant and negated positions in between.
std::vector<std::int64_t> integers(std::int64_t axes, std::int64_t tokens) {
  test::Random random(29);
  std::vector<std::int64_t> all;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t in_grid = axis == 0 ? t / 24 : t % 24 + axis;
      const auto far = static_cast<std::int64_t>(random.magnitude(0, 62));
      all.push_back(t % 5 == 4 ? far : t % 7 == 6 ? -in_grid : in_grid);
    }
  }
  all.front() = std::int64_t{1} << 40;
  all.back() = -(std::int64_t{1} << 40);
  all[all.size() / 2] = std::numeric_limits<std::int64_t>::min();
  all[all.size() / 2 + 1] = std::numeric_limits<std::int64_t>::max();
  return all;
}

// Some tokens have integer coordinates on all axes or on none, most tokens on some axes.
std::vector<double> fractions(std::int64_t axes, std::int64_t tokens) {
  std::vector<double> all;
  for (const std::int64_t each : integers(axes, tokens))
    all.push_back(static_cast<double>(each % (std::int64_t{1} << 50)));
  test::Random random(31);
  for (std::size_t i = 0; i < all.size(); i += 3) all[i] += 0.3;
  for (std::size_t i = 0; i < all.size(); i += 11) all[i] = random.magnitude(-70, 51);
  return all;
}

void expect_within_bound(const Frequencies& frequencies, std::int64_t tokens) {
  const std::int64_t axes = frequencies.axes.count;
  const auto whole = integers(axes, 2 * tokens);
  const auto between = fractions(axes, 2 * tokens);
  for (const RowDType rows : test::all_row_dtypes) {
    EXPECT_TRUE(test::rows_within_bound(frequencies, positions_of(whole, 2, axes), rows));
    EXPECT_TRUE(test::rows_within_bound(frequencies, positions_of(between, 2, axes), rows));
  }
}

TEST(AxisRows, StayWithinTheBound) {
  for (const Frequencies& frequencies : several_frequencies()) expect_within_bound(frequencies, 70);
}

TEST(AxisRows, StayWithinTheBoundForDenseAxes) {
  for (const std::int64_t axes : {2, 3, 8}) {
    for (const std::int64_t pairs : {1, 23, 65}) {
      const Frequencies frequencies = dense_frequencies(axes, pairs);
      expect_within_bound(frequencies, 20);
      EXPECT_TRUE(test::rows_within_bound(
          frequencies, ConsecutivePositions{.first = -7, .tokens = 20}, RowDType::f32));
    }
  }
}

// cos and sin of pair i.
template <class Real>
std::pair<Real, Real> pair_at(const Rotations& rotations, std::int64_t t, std::size_t i) {
  return {rotations.cos<Real>(0, t)[i], rotations.sin<Real>(0, t)[i]};
}

template <class Number>
void expect_the_bits_of_one_axis(const Frequencies& frequencies, const std::vector<Number>& all) {
  const std::int64_t axes = frequencies.axes.count;
  const std::size_t tokens = all.size() / static_cast<std::size_t>(axes);
  Frequencies of_one = frequencies;
  of_one.axes = {};
  for (const RowDType dtype : test::all_row_dtypes) {
    const Rotations got = test::rotations_of(frequencies, positions_of(all, 1, axes), dtype);
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      const std::span coordinates(all.data() + static_cast<std::size_t>(axis) * tokens, tokens);
      const Rotations wanted = test::rotations_of(of_one, positions_of(coordinates), dtype);
      for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t i = 0; i < frequencies.inv_freq.size(); ++i) {
          if (frequencies.axes.of_pair[i] != axis) continue;
          const auto at = static_cast<std::int64_t>(t);
          if (dtype == RowDType::f32) {
            ASSERT_EQ(pair_at<float>(got, at, i), pair_at<float>(wanted, at, i)) << t << " " << i;
          } else {
            ASSERT_EQ(pair_at<double>(got, at, i), pair_at<double>(wanted, at, i)) << t << " " << i;
          }
        }
      }
    }
  }
}

TEST(AxisRows, EqualRowsOfEachAxisAlone) {
  for (const Frequencies& frequencies : several_frequencies()) {
    expect_the_bits_of_one_axis(frequencies, integers(frequencies.axes.count, 150));
    expect_the_bits_of_one_axis(frequencies, fractions(frequencies.axes.count, 150));
  }
}

// Text has one position, equal on all axes.
TEST(AxisRows, EqualOneAxisRowsForText) {
  for (const Frequencies& frequencies : several_frequencies()) {
    Frequencies of_one = frequencies;
    of_one.axes = {};
    const ConsecutivePositions text{.first = 4090, .tokens = 100};
    std::vector<std::int64_t> listed(100);
    std::iota(listed.begin(), listed.end(), text.first);
    const auto wanted = all_row_bits(test::rotations_of(of_one, text));
    EXPECT_EQ(all_row_bits(test::rotations_of(frequencies, text)), wanted);
    EXPECT_EQ(all_row_bits(test::rotations_of(frequencies, positions_of(listed))), wanted);
  }
}

TEST(AxisRows, HaveTheSameBitsInAnyLayoutOfPositions) {
  const Frequencies frequencies = several_frequencies().front();
  const auto planes = integers(3, 40);
  std::vector<std::int64_t> tuples;  // [tokens][axes], in reverse
  for (std::size_t t = 40; t-- > 0;)
    for (std::size_t axis = 0; axis < 3; ++axis) tuples.push_back(planes[axis * 40 + t]);
  const TokenArray<std::int64_t> reversed{.data = tuples.data() + 39 * 3,
                                          .batch = 2,
                                          .tokens = 20,
                                          .batch_stride = -60,
                                          .token_stride = -3,
                                          .axes = 3,
                                          .axis_stride = 1};
  EXPECT_EQ(all_row_bits(test::rotations_of(frequencies, reversed)),
            all_row_bits(test::rotations_of(frequencies, positions_of(planes, 1, 3))));
}

TEST(AxisRows, HaveTransformersBitsAtEachCoordinate) {
  for (RotarySpec spec : several_layouts()) {
    if (!spec.axes->scales.empty()) continue;
    spec.numerics = Numerics::transformers;
    spec.rounding = Rounding::result;
    const Frequencies frequencies = made_of(spec);
    for (const double each : frequencies.inv_freq)
      EXPECT_EQ(each, static_cast<double>(static_cast<float>(each)));
    const auto axes = static_cast<std::size_t>(frequencies.axes.count);
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < axes * 50; ++i)
      ids.push_back(static_cast<std::int32_t>(i * i % 997));
    const Rotations got =
        test::rotations_of(frequencies, positions_of(ids, 1, frequencies.axes.count));
    for (std::int64_t t = 0; t < 50; ++t) {
      for (std::size_t i = 0; i < frequencies.inv_freq.size(); ++i) {
        const auto axis = static_cast<std::size_t>(frequencies.axes.of_pair[i]);
        const auto id = static_cast<float>(ids[axis * 50 + static_cast<std::size_t>(t)]);
        const double angle = id * static_cast<float>(frequencies.inv_freq[i]);
        ASSERT_EQ(got.cos(0, t)[i], static_cast<float>(std::cos(angle)));
        ASSERT_EQ(got.sin(0, t)[i], static_cast<float>(std::sin(angle)));
      }
    }
  }
}

// cos and sin of a pair's exact shift: the new angle minus the old one.
reference::CosSin exact_shift(const Frequencies& frequencies, std::size_t pair,
                              const std::vector<double>& from, const std::vector<double>& to) {
  const std::int64_t pairs = frequencies.window.pairs();
  std::vector<reference::Angle> angles;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(frequencies.axes.count); ++axis) {
    const bool dense = frequencies.axes.of_pair.empty();
    if (!dense && frequencies.axes.of_pair[pair] != static_cast<std::int32_t>(axis)) continue;
    const double inv_freq =
        frequencies.inv_freq[(dense ? axis * static_cast<std::size_t>(pairs) : 0) + pair];
    angles.push_back({to[axis], inv_freq});
    angles.push_back({from[axis], -inv_freq});
  }
  return reference::cos_sin_of_sum(angles);
}

void expect_shift(const Frequencies& frequencies, const std::vector<double>& from,
                  const std::vector<double>& to) {
  const std::int64_t axes = frequencies.axes.count;
  const std::size_t tokens = from.size() / static_cast<std::size_t>(axes);
  const Rotations by =
      test::value_of(make_shift({frequencies, positions_of(from, 1, axes)},
                                {frequencies, positions_of(to, 1, axes)}, {.rows = RowDType::f64}));
  for (std::size_t t = 0; t < tokens; ++t) {
    std::vector<double> old_place;
    std::vector<double> new_place;
    double distance = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis) {
      old_place.push_back(from[axis * tokens + t]);
      new_place.push_back(to[axis * tokens + t]);
      distance += shift_position_bound(old_place.back(), new_place.back());
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(frequencies.window.pairs()); ++i) {
      const auto exact = exact_shift(frequencies, i, old_place, new_place);
      const double bound = row_f64_error_bound(1, distance);
      const auto at = static_cast<std::int64_t>(t);
      EXPECT_NEAR(by.cos<double>(0, at)[i], static_cast<double>(exact.cos), bound);
      EXPECT_NEAR(by.sin<double>(0, at)[i], static_cast<double>(exact.sin), bound);
    }
  }
}

TEST(AxisRows, ShiftsByVectorsAreWithinTheBound) {
  auto all = several_frequencies();
  all.push_back(dense_frequencies(3, 23));
  for (const Frequencies& frequencies : all) {
    const auto from = fractions(frequencies.axes.count, 12);
    auto to = from;
    std::rotate(to.begin(), to.begin() + 5, to.end());
    expect_shift(frequencies, from, to);
  }
}

TEST(AxisRows, AShiftByOneVectorHasOneRow) {
  const Frequencies frequencies = several_frequencies()[1];
  std::vector<std::int64_t> from = {5, 5, 5, 6, 6, 6, 7, 8, 9};
  std::vector<std::int64_t> to = from;
  for (std::size_t i = 0; i < 9; ++i) to[i] += std::array<std::int64_t, 3>{100, -3, 7}[i / 3];
  const auto shift_of = [&] {
    return test::value_of(
        make_shift({frequencies, positions_of(from, 1, 3)}, {frequencies, positions_of(to, 1, 3)}));
  };
  const Rotations shared = shift_of();
  EXPECT_EQ(shared.row_stride(), 0);
  const HeadWindow& window = frequencies.window;
  test::Tensor keys = test::random_tensor(
      {.dtype = DType::f32,
       .extents = {.batch = 1, .tokens = 3, .heads = 2, .features = window.head_dim}},
      43);
  test::Tensor wanted = keys;
  test::require(
      rotate(keys.view(), keys.view(), test::rotations_of(frequencies, positions_of(from, 1, 3))));
  test::require(rotate(wanted.view(), wanted.view(),
                       test::rotations_of(frequencies, positions_of(to, 1, 3))));
  test::require(shift(keys.view(), shared));
  for (std::int64_t f = 0; f < window.head_dim; ++f)
    EXPECT_NEAR(keys.at({.token = 2, .head = 1}, f), wanted.at({.token = 2, .head = 1}, f), 2e-6);
  to[8] += 1;
  EXPECT_NE(shift_of().row_stride(), 0);
}

}  // namespace
}  // namespace rotary
