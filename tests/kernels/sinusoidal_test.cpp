// SPDX-License-Identifier: Apache-2.0
// Compares sinusoidal encodings of many dims with MPFR, and tests their rounding. The fuzz target
// absolute covers fill, add and shift in any dtype and strides, at any position.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/absolute.hpp"
#include "rotary/absolute.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;
using test::tokens_of;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
const std::vector<std::int64_t> far_positions = {
    0, 1, -1, 7, 8191, 131071, -70000, (1LL << 31) + 1, 1LL << 40, lowest, highest};

std::vector<SinusoidalSpec> specs_of(std::int64_t dim) {
  std::vector<SinusoidalSpec> specs;
  for (const auto layout : all_sinusoidal_layouts) {
    for (const auto spacing : all_sinusoidal_spacings) {
      if (spacing == SinusoidalSpacing::ends && dim < 4) continue;
      specs.push_back({.dim = dim, .base = 10000.0, .layout = layout, .spacing = spacing});
    }
  }
  return specs;
}

void expect_filled(const SinusoidalSpec& spec) {
  SCOPED_TRACE(std::string(to_string(spec.layout)) + " " + std::string(to_string(spec.spacing)) +
               " " + std::to_string(spec.dim));
  const auto sinusoidal = test::value_of(make_sinusoidal(spec));
  const auto tokens = static_cast<std::int64_t>(far_positions.size());
  Tensor dst(test::tokens_shape(DType::f32, {.tokens = tokens, .features = spec.dim}));
  test::require(fill_sinusoidal(tokens_of(dst), sinusoidal, positions_of(far_positions)));
  std::vector<std::vector<long double>> rows;
  for (const std::int64_t position : far_positions) {
    rows.push_back(
        reference::sinusoidal_row(spec, reference::sinusoidal_angles(sinusoidal, position)));
  }
  test::for_each_element(dst.extents(), [&](const HeadIndex& at, std::int64_t f) {
    const auto token = static_cast<std::size_t>(at.token);
    const long double exact = rows[token][static_cast<std::size_t>(f)];
    const double bound =
        sinusoidal_error_bound(DType::f32, static_cast<double>(exact),
                               std::abs(static_cast<double>(far_positions[token])));
    ASSERT_LE(static_cast<double>(std::abs(dst.at(at, f) - exact)), bound)
        << "token " << at.token << " feature " << f;
  });
  EXPECT_TRUE(dst.guards_intact());
}

TEST(Sinusoidal, FillsEverySpecWithinTheBound) {
  for (const std::int64_t dim : {1, 2, 3, 4, 5, 10, 11, 126, 127, 128, 129, 130, 131, 257}) {
    for (const SinusoidalSpec& spec : specs_of(dim)) {
      expect_filled(spec);
    }
  }
}

// Scales ones by `value`, adds an encoding of zeros and checks the stored bits, also in a tail.
void expect_stored(DType dtype, double value, std::uint64_t bits) {
  static const auto zeros = [] {
    SinusoidalSpec spec = transformer_sinusoidal(19);
    spec.zero_position = 0;
    return test::value_of(make_sinusoidal(spec));
  }();
  Tensor x(test::tokens_shape(dtype, {.tokens = 1, .features = 19}));
  for (std::int64_t f = 0; f < 19; ++f) x.set({}, f, 1);
  test::require(
      add_sinusoidal(tokens_of(x), tokens_of(x), zeros, ConsecutivePositions{0, 1}, {value}));
  ASSERT_EQ(x.all_bits(), std::vector<std::uint64_t>(19, bits)) << to_string(dtype) << value;
}

// Stores many midpoints between 16-bit numbers, and the doubles beside them. Beyond the largest
// number, Inf is stored.
TEST(Sinusoidal, SixteenBitNumbersAreRoundedToNearestEven) {
  for (const auto& [dtype, infinity] : {std::pair(DType::bf16, 0x7F80U), {DType::f16, 0x7C00U}}) {
    Tensor number(test::tokens_shape(dtype, {.tokens = 1, .features = 2}));
    const double beyond = dtype == DType::bf16 ? 0x1p128 : 0x1p16;
    for (std::uint64_t bits = 0; bits < infinity;
         bits += bits < 40 || bits > infinity - 5 ? 1 : 7) {
      number.set_bits({}, 0, bits);
      number.set_bits({}, 1, bits + 1);
      const double low = number.at({}, 0);
      const double high = bits + 1 == infinity ? beyond : number.at({}, 1);
      const double middle = low + (high - low) / 2;
      for (const double sign : {1.0, -1.0}) {
        const std::uint64_t sign_bit = sign < 0 ? 0x8000 : 0;
        expect_stored(dtype, sign * std::nextafter(middle, low), bits | sign_bit);
        expect_stored(dtype, sign * middle, (bits + bits % 2) | sign_bit);
        expect_stored(dtype, sign * std::nextafter(middle, high), (bits + 1) | sign_bit);
      }
    }
    expect_stored(dtype, 0x1p1000, infinity);
  }
}

// Compares one call at integers with a call for each token, which gets its position as a double.
TEST(Sinusoidal, BitsDependOnlyOnThePosition) {
  const auto sinusoidal = test::value_of(make_sinusoidal(marian_sinusoidal(258)));
  const std::vector<std::int64_t> each = {100, 101, 102, 100, 7, 101};  // [2, 3]
  Tensor whole(test::tokens_shape(DType::f32, {.batch = 2, .tokens = 3, .features = 258}));
  test::require(fill_sinusoidal(tokens_of(whole), sinusoidal, positions_of(each, 2)));
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < 3; ++t) {
      Tensor one(test::tokens_shape(DType::f32, {.tokens = 1, .features = 258}));
      const std::vector<double> position = {
          static_cast<double>(each[static_cast<std::size_t>(3 * b + t)])};
      test::require(fill_sinusoidal(tokens_of(one), sinusoidal, positions_of(position)));
      for (std::int64_t f = 0; f < 258; ++f) {
        ASSERT_EQ(one.bits_at({}, f), whole.bits_at({.batch = b, .token = t}, f));
      }
    }
  }
}

// Products of the smallest doubles underflow; the bound allows for it.
TEST(Sinusoidal, ShiftsSubnormalNumbersWithinTheBound) {
  const auto sinusoidal = test::value_of(make_sinusoidal(marian_sinusoidal(2)));
  for (const std::int64_t distance : {1, 18, -7, 1000}) {
    const auto turn = reference::cos_sin(distance, 1.0);
    for (double sin = 0x1p-1074; sin < 0x1p-1068; sin += 0x1p-1074) {
      Tensor pair(test::tokens_shape(DType::f64, {.tokens = 1, .features = 2}));
      pair.set({}, 0, sin);
      pair.set({}, 1, -5 * sin);
      const ConsecutivePositions by{.first = distance, .tokens = 1};
      test::require(shift_sinusoidal(tokens_of(pair), tokens_of(pair), sinusoidal, by));
      const long double exact = sin * turn.cos - 5 * sin * turn.sin;
      ASSERT_LE(
          std::abs(pair.at({}, 0) - exact),
          shift_sinusoidal_error_bound(DType::f64, static_cast<double>(exact), 5 * sin, distance));
    }
  }
}

// Some texts claim that all numbers are in [-1, 1] and that their mean is 0. The mean is not 0,
// because slow cosines stay near 1 (the last one's mean is 0.9995).
TEST(Sinusoidal, AllNumbersAreWithinOneAndTheirMeanIsNotZero) {
  const auto sinusoidal = test::value_of(make_sinusoidal(transformer_sinusoidal(512)));
  Tensor table(test::tokens_shape(DType::f64, {.tokens = 512, .features = 512}));
  test::require(fill_sinusoidal(tokens_of(table), sinusoidal, ConsecutivePositions{0, 512}));
  double sum = 0;
  double last = 0;
  test::for_each_element(table.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const double value = table.at(index, f);
    ASSERT_LE(std::abs(value), 1);
    sum += value;
    if (f == 511) last += value;
  });
  EXPECT_NEAR(sum / (512 * 512), 0.267, 0.0005);
  EXPECT_NEAR(last / 512, 0.9995, 0.00005);
}

}  // namespace
}  // namespace rotary
