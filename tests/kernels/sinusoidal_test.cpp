// SPDX-License-Identifier: Apache-2.0
// Sinusoidal encodings against MPFR: every layout, spacing, dtype and stride, at every position.
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

std::string describe(const SinusoidalSpec& spec, DType dtype) {
  return std::string(to_string(spec.layout)) + " " + std::string(to_string(spec.spacing)) + " " +
         std::to_string(spec.dim) + " " + std::string(to_string(dtype));
}

// The expected row, and the position that its bounds need.
struct Wanted {
  std::vector<long double> row;
  double position;  // in the bounds: |position| + |offset|
};

template <class Number>
Wanted wanted_at(const Sinusoidal& sinusoidal, Number position) {
  const auto angles = reference::sinusoidal_angles(sinusoidal, position);
  return {.row = reference::sinusoidal_row(sinusoidal.spec, angles),
          .position = std::abs(static_cast<double>(position)) +
                      std::abs(static_cast<double>(sinusoidal.spec.position_offset))};
}

// The sum of scale * x and row, element by element, within its bound; no x: the row alone.
void expect_tokens(const Tensor& got, const Tensor* x, double scale,
                   const std::vector<Wanted>& wanted) {
  test::for_each_element(got.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const Wanted& row = wanted[static_cast<std::size_t>(index.token)];
    const long double p = row.row[static_cast<std::size_t>(f)];
    const long double scaled = x == nullptr ? 0 : static_cast<long double>(scale) * x->at(index, f);
    const auto exact = static_cast<double>(scaled + p);
    const DType dtype = got.view().dtype;
    const double bound =
        x == nullptr
            ? sinusoidal_error_bound(dtype, exact, row.position)
            : add_sinusoidal_error_bound(dtype, exact, static_cast<double>(scaled), row.position);
    const auto error = static_cast<double>(std::abs(got.at(index, f) - (scaled + p)));
    ASSERT_LE(error, bound) << "batch " << index.batch << " token " << index.token << " feature "
                            << f << " got " << got.at(index, f) << " wanted " << exact;
  });
}

template <class Number>
std::vector<Wanted> wanted_rows(const Sinusoidal& sinusoidal, const std::vector<Number>& at) {
  std::vector<Wanted> rows;
  for (const Number position : at) rows.push_back(wanted_at(sinusoidal, position));
  return rows;
}

template <class Number>
TokenExtents extents_of(const std::vector<Number>& positions, std::int64_t dim,
                        std::int64_t batch) {
  return {.batch = batch, .tokens = static_cast<std::int64_t>(positions.size()), .features = dim};
}

template <class Number>
void expect_fill(const SinusoidalSpec& spec, DType dtype, test::Layout layout,
                 const std::vector<Number>& positions) {
  SCOPED_TRACE(describe(spec, dtype) + " " + std::string(test::to_string(layout)));
  const auto sinusoidal = test::value_of(make_sinusoidal(spec));
  Tensor dst(test::tokens_shape(dtype, extents_of(positions, spec.dim, 2), layout));
  test::require(fill_sinusoidal(tokens_of(dst), sinusoidal, positions_of(positions)));
  expect_tokens(dst, nullptr, 1, wanted_rows(sinusoidal, positions));
  EXPECT_TRUE(dst.guards_intact());
}

TEST(Sinusoidal, FillsEverySpecWithinTheBound) {
  for (const std::int64_t dim : {1, 2, 3, 4, 5, 10, 11, 126, 127, 128, 129, 130, 131, 257}) {
    for (const SinusoidalSpec& spec : specs_of(dim)) {
      expect_fill(spec, DType::f32, test::Layout::bthd, far_positions);
    }
  }
}

TEST(Sinusoidal, FillsEveryDtypeAndLayout) {
  for (const DType dtype : test::all_dtypes) {
    for (const test::Layout layout : test::all_layouts) {
      for (const SinusoidalSpec& spec : specs_of(67)) {
        expect_fill(spec, dtype, layout, std::vector<std::int64_t>{0, 3, -9, 70001});
      }
    }
  }
}

TEST(Sinusoidal, FillsPositionsBetweenIntegers) {
  const std::vector<double> positions = {0, 0.5, -2.25, 1e-9, 8191.75, -131071.3, 0x1p40 + 0.125};
  for (const DType dtype : test::all_dtypes) {
    for (const SinusoidalSpec& spec : specs_of(131)) {
      expect_fill(spec, dtype, test::Layout::bthd, positions);
    }
  }
}

// Also for position + offset beyond int64; -1 is the padding of fairseq.
TEST(Sinusoidal, AddsTheOffsetExactlyAndKnowsRowsOfZeros) {
  SinusoidalSpec spec = fairseq_sinusoidal(34, 1);
  for (const std::int64_t offset : {2LL, 1LL << 62, -5LL}) {
    spec.position_offset = offset;
    const auto sinusoidal = test::value_of(make_sinusoidal(spec));
    Tensor dst(test::tokens_shape(DType::f64, extents_of(far_positions, spec.dim, 1)));
    test::require(fill_sinusoidal(tokens_of(dst), sinusoidal, positions_of(far_positions)));
    auto wanted = wanted_rows(sinusoidal, far_positions);
    wanted[2].row.assign(wanted[2].row.size(), 0);
    ASSERT_EQ(far_positions[2], -1);
    expect_tokens(dst, nullptr, 1, wanted);
    EXPECT_EQ(dst.at({.token = 2}, 5), 0);
  }
  spec.position_offset = 2;
  const auto sinusoidal = test::value_of(make_sinusoidal(spec));
  const std::vector<double> between = {-1, -0.5, 0x1p60};
  Tensor dst(test::tokens_shape(DType::f32, extents_of(between, spec.dim, 1)));
  test::require(fill_sinusoidal(tokens_of(dst), sinusoidal, positions_of(between)));
  auto wanted = wanted_rows(sinusoidal, between);
  wanted[0].row.assign(wanted[0].row.size(), 0);
  expect_tokens(dst, nullptr, 1, wanted);
}

TEST(Sinusoidal, FrequenciesAreThoseOfTheDefinition) {
  for (const std::int64_t dim : {1, 4, 5, 64, 513, 4096}) {
    for (SinusoidalSpec spec : specs_of(dim)) {
      for (const double base : {1.5, 10000.0, 1e6}) {
        spec.base = base;
        const auto sinusoidal = test::value_of(make_sinusoidal(spec));
        const auto wanted = reference::sinusoidal_inv_freq(spec);
        ASSERT_EQ(sinusoidal.inv_freq.size(), wanted.size());
        for (std::size_t k = 0; k < wanted.size(); ++k) {
          // pow inherits the rounding of its exponent, times the logarithm of base.
          const long double bound = (4 + std::log(base)) * 0x1p-52L * wanted[k];
          ASSERT_LE(std::abs(sinusoidal.inv_freq[k] - wanted[k]), bound) << dim << " pair " << k;
        }
      }
    }
  }
}

TEST(Sinusoidal, AddsToScaledEmbeddings) {
  const std::vector<std::int64_t> positions = {5, 6, 131071, -3};
  for (const DType dtype : test::all_dtypes) {
    for (const SinusoidalSpec& spec : specs_of(131)) {
      SCOPED_TRACE(describe(spec, dtype));
      const auto sinusoidal = test::value_of(make_sinusoidal(spec));
      const double scale = std::sqrt(static_cast<double>(spec.dim));
      const auto shape = test::tokens_shape(dtype, extents_of(positions, spec.dim, 3));
      const Tensor src = test::random_tensor(shape, 7);
      Tensor dst(
          test::tokens_shape(dtype, extents_of(positions, spec.dim, 3), test::Layout::padded));
      Tensor in_place = src;
      Tensor read = src;
      test::require(add_sinusoidal(tokens_of(dst), tokens_of(read), sinusoidal,
                                   positions_of(positions), {.embedding_scale = scale}));
      expect_tokens(dst, &src, scale, wanted_rows(sinusoidal, positions));
      EXPECT_TRUE(dst.guards_intact());
      EXPECT_EQ(read.bytes(), src.bytes());
      const TokensView view = tokens_of(in_place);
      test::require(add_sinusoidal(view, view, sinusoidal, positions_of(positions),
                                   {.embedding_scale = scale}));
      EXPECT_EQ(in_place.all_bits(), dst.all_bits());
    }
  }
}

// Stores 1 times value on a row of zeros, wide enough for vectors and a tail, and checks the bits.
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

// 16-bit numbers and numbers between two of them, half-way and next to that; also between the
// largest and the next multiple, which is stored as Inf. Each is read as the number it is.
TEST(Sinusoidal, SixteenBitsAreRoundedToNearestEven) {
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

// One call, or one for each token and batch row, with another kind of positions.
TEST(Sinusoidal, BitsDependOnThePositionAlone) {
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

// p(t + Δ) = M(Δ) p(t), with a map that does not depend on t: against the encoding of t + Δ itself.
TEST(Sinusoidal, AFixedOffsetIsALinearMap) {
  const std::vector<std::int64_t> from = {0, 3, 1000, 131071, -7};
  for (const SinusoidalSpec& spec : specs_of(130)) {
    const auto sinusoidal = test::value_of(make_sinusoidal(spec));
    for (const std::int64_t distance : {0LL, 1LL, -5LL, 4096LL, 1LL << 33}) {
      SCOPED_TRACE(describe(spec, DType::f64) + " by " + std::to_string(distance));
      const auto n = extents_of(from, spec.dim, 1);
      Tensor src(test::tokens_shape(DType::f64, n));
      test::require(fill_sinusoidal(tokens_of(src), sinusoidal, positions_of(from)));
      Tensor dst(test::tokens_shape(DType::f64, n, test::Layout::every_second_feature));
      const std::vector<std::int64_t> distances(from.size(), distance);
      test::require(
          shift_sinusoidal(tokens_of(dst), tokens_of(src), sinusoidal, positions_of(distances)));
      std::vector<std::int64_t> to;
      for (const std::int64_t t : from) to.push_back(t + distance);
      const auto wanted = wanted_rows(sinusoidal, to);
      test::for_each_element(dst.extents(), [&](const HeadIndex& index, std::int64_t f) {
        const auto token = static_cast<std::size_t>(index.token);
        const auto exact = static_cast<double>(wanted[token].row[static_cast<std::size_t>(f)]);
        // The pair that is shifted is off by the error of its own angle, at most √2 times.
        const double bound = shift_sinusoidal_error_bound(DType::f64, exact, 1, distance) +
                             2 * sinusoidal_error_bound(DType::f64, 1, from[token]);
        ASSERT_LE(std::abs(dst.at(index, f) - exact), bound) << index.token << " feature " << f;
      });
    }
  }
}

TEST(Sinusoidal, ShiftsEveryDtypeInPlaceAndApart) {
  const std::vector<double> distances = {0.5, -3, 70000};
  for (const DType dtype : test::all_dtypes) {
    for (const SinusoidalSpec& spec : specs_of(132)) {
      SCOPED_TRACE(describe(spec, dtype));
      const auto sinusoidal = test::value_of(make_sinusoidal(spec));
      const auto n = extents_of(distances, spec.dim, 2);
      const Tensor src = test::random_tensor(test::tokens_shape(dtype, n), 9);
      Tensor read = src;
      Tensor in_place = src;
      Tensor dst(test::tokens_shape(dtype, n, test::Layout::reversed));
      test::require(
          shift_sinusoidal(tokens_of(dst), tokens_of(read), sinusoidal, positions_of(distances)));
      test::require(shift_sinusoidal(tokens_of(in_place), tokens_of(in_place), sinusoidal,
                                     positions_of(distances)));
      EXPECT_EQ(in_place.all_bits(), dst.all_bits());
      const bool interleaved = spec.layout == SinusoidalLayout::interleaved;
      const std::int64_t half = spec.dim / 2;
      const bool sin_first = spec.layout != SinusoidalLayout::cos_then_sin;
      for (std::int64_t k = 0; k < half; ++k) {
        const std::int64_t one = interleaved ? 2 * k : k;
        const std::int64_t two = interleaved ? 2 * k + 1 : half + k;
        const auto [fs, fc] = sin_first ? std::pair(one, two) : std::pair(two, one);
        for (std::int64_t t = 0; t < n.tokens; ++t) {
          const HeadIndex at{.batch = 1, .token = t};
          const auto turn = reference::cos_sin(distances[static_cast<std::size_t>(t)],
                                               sinusoidal.inv_freq[static_cast<std::size_t>(k)]);
          const long double s = src.at(at, fs);
          const long double c = src.at(at, fc);
          const auto new_s = static_cast<double>(s * turn.cos + c * turn.sin);
          const auto new_c = static_cast<double>(c * turn.cos - s * turn.sin);
          const auto largest = static_cast<double>(std::max(std::abs(s), std::abs(c)));
          const double position = distances[static_cast<std::size_t>(t)];
          ASSERT_LE(std::abs(dst.at(at, fs) - new_s),
                    shift_sinusoidal_error_bound(dtype, new_s, largest, position));
          ASSERT_LE(std::abs(dst.at(at, fc) - new_c),
                    shift_sinusoidal_error_bound(dtype, new_c, largest, position));
        }
      }
    }
  }
}

// Products of the smallest doubles underflow, for which the bound has room.
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

// The source documents' properties, one of which is false: all numbers lie in [-1, 1], but their
// mean is not 0, because the slow cosines stay near 1 (here the last one at 0.9995).
TEST(Sinusoidal, RangeAndMean) {
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
