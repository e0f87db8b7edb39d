// SPDX-License-Identifier: Apache-2.0
// Rotation of 16-bit numbers. Results are the float32 results rounded once, ties to even. Every f16
// input is widened exactly. For f16, flushing subnormals in the thread changes no result.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "rotary/instruction_set.hpp"
#include "rotary/rotate.hpp"
#include "support/bfloat16.hpp"
#include "support/binary16.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

// During its lifetime, the thread flushes subnormals to 0, as many programs do for speed. Has no
// effect on machines where the tests cannot set this mode.
class FlushSubnormals {
 public:
#if defined(__SSE2__)
  FlushSubnormals() { __builtin_ia32_ldmxcsr(before_ | flush_to_zero | are_zero); }
  ~FlushSubnormals() { __builtin_ia32_ldmxcsr(before_); }
#else
  FlushSubnormals() {}
  ~FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

#if defined(__SSE2__)
 private:
  static constexpr unsigned flush_to_zero = 0x8000;
  static constexpr unsigned are_zero = 0x0040;
  unsigned before_ = __builtin_ia32_stmxcsr();
#endif
};

constexpr std::int64_t all_patterns = 65536;

// A float32 result as bf16. AVX512_BF16 flushes subnormals to a zero of the same sign.
std::uint16_t stored(float result) {
  static const bool flushes = test::value_of(instruction_set()) == "AVX3_BF16";
  const bool is_subnormal = std::fpclassify(result) == FP_SUBNORMAL;
  return test::to_bfloat16(flushes && is_subnormal ? std::copysign(0.0F, result) : result);
}

// Expects a 16-bit rotation to be the float32 rotation, rounded once.
void expect_rounded_once(const Tensor& src, const Rotations& rotations, Direction direction) {
  Tensor narrow = src;
  Tensor wide = test::rounded_to(DType::f32, src);
  test::require(rotate(narrow.view(), narrow.view(), rotations, {.direction = direction}));
  test::require(rotate(wide.view(), wide.view(), rotations, {.direction = direction}));
  test::for_each_element(src.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const double got = narrow.at(index, f);
    const double wanted = wide.at(index, f);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << "feature " << f;
    } else {
      const bool is_f16 = src.view().dtype == DType::f16;
      ASSERT_EQ(narrow.bits_at(index, f),
                is_f16 ? test::to_binary16(wanted) : stored(static_cast<float>(wanted)))
          << "feature " << f << std::hexfloat << " from " << wanted;
    }
  });
}

HeadWindow whole_head(std::int64_t head_dim, Pairing pairing) {
  return {.head_dim = head_dim, .rotary_dim = head_dim, .first_feature = 0, .pairing = pairing};
}

TEST(Rotate16Bits, AreTheFloat32ResultRoundedOnce) {
  constexpr Extents extents{.batch = 2, .tokens = 9, .heads = 5, .features = 74};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const Pairing pairing : all_pairings) {
      const HeadWindow window{
          .head_dim = 74, .rotary_dim = 70, .first_feature = 1, .pairing = pairing};
      const Rotations rotations = test::rotations_of(
          test::frequencies_of(window, 1.25), ConsecutivePositions{.first = 30, .tokens = 9});
      Tensor src({.dtype = dtype, .extents = extents});
      test::Random random(41);
      fill_with_any_magnitude(src, random);
      for (const Direction direction : test::all_directions) {
        SCOPED_TRACE(test::describe(dtype, pairing, direction));
        expect_rounded_once(src, rotations, direction);
      }
    }
  }
}

Rotations rotations_at(std::int64_t position, std::int64_t tokens, const Frequencies& frequencies) {
  const std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens), position);
  return test::rotations_of(frequencies, positions_of(std::span(positions)));
}

// Pairs each bit pattern x with its neighbour y. At an eighth of a turn, x cos - y sin nearly
// cancels, so any error of widening shows.
TEST(RotateFloat16, EveryInputIsWidenedExactly) {
  constexpr std::int64_t pairs = 256;
  constexpr Extents extents{.tokens = all_patterns / pairs, .heads = 1, .features = 2 * pairs};
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window = whole_head(2 * pairs, pairing);
    const std::vector<double> eighth_of_a_turn(pairs, std::atan(1.0));
    Tensor src({.dtype = DType::f16, .extents = extents});
    for (std::int64_t x = 0; x < all_patterns; ++x) {
      const auto [first, second] = test::features_read(window, Direction::forward, x % pairs);
      src.set_bits({.token = x / pairs}, first, static_cast<std::uint64_t>(x));
      src.set_bits({.token = x / pairs}, second, static_cast<std::uint64_t>(x ^ 1));
    }
    expect_rounded_once(src,
                        rotations_at(1, extents.tokens,
                                     test::value_of(make_frequencies(window, eighth_of_a_turn, 1))),
                        Direction::forward);
  }
}

// Position 0 with A = 1 keeps every finite number, except the sign of 0. Each pattern is paired
// with its negative, so that no finite number meets Inf or NaN.
void expect_every_pattern_unchanged(Pairing pairing) {
  constexpr std::int64_t pairs = 64;
  constexpr Extents extents{.tokens = all_patterns / 2 / pairs, .heads = 1, .features = 2 * pairs};
  const HeadWindow window = whole_head(2 * pairs, pairing);
  Tensor src({.dtype = DType::f16, .extents = extents});
  for (std::int64_t x = 0; x < all_patterns / 2; ++x) {
    const auto [first, second] = test::features_read(window, Direction::forward, x % pairs);
    src.set_bits({.token = x / pairs}, first, static_cast<std::uint64_t>(x));
    src.set_bits({.token = x / pairs}, second, static_cast<std::uint64_t>(x + all_patterns / 2));
  }
  const Rotations rotations = rotations_at(0, extents.tokens, test::frequencies_of(window));
  Tensor dst = src;
  {
    const FlushSubnormals flush;
    test::require(rotate(dst.view(), dst.view(), rotations));
  }
  test::for_each_element(extents, [&](const HeadIndex& index, std::int64_t f) {
    if (std::isfinite(src.at(index, f))) {
      ASSERT_EQ(dst.at(index, f), src.at(index, f));
    } else {
      ASSERT_FALSE(std::isfinite(dst.at(index, f)));  // Inf times the sine of 0 is a NaN
    }
  });
}

TEST(RotateFloat16, EveryNumberSurvivesEvenIfSubnormalsAreFlushed) {
  for (const Pairing pairing : test::order_keeping_pairings)
    expect_every_pattern_unchanged(pairing);
}

// Multiplies ±2^-24 .. ±2^15 by A alone (position 0). The float32 products are exact, so the f16
// result is A 2^k rounded. Float32 subnormals are flushed meanwhile.
constexpr int powers = 40;

void expect_powers_of_two_scaled(const Frequencies& frequencies) {
  const double attention_factor = frequencies.attention_factor;
  Tensor src({.dtype = DType::f16, .extents = {.tokens = 1, .heads = 1, .features = 2 * powers}});
  for (int k = 0; k < powers; ++k) {
    src.set({}, 2 * k, std::ldexp(1.0, k - 24));
    src.set({}, 2 * k + 1, -std::ldexp(1.0, k - 24));
  }
  const Rotations rotations =
      test::rotations_of(frequencies, ConsecutivePositions{.first = 0, .tokens = 1});
  Tensor dst = src;
  {
    const FlushSubnormals flush;
    test::require(rotate(dst.view(), dst.view(), rotations));
  }
  for (std::int64_t f = 0; f < 2 * powers; ++f) {
    const double exact = src.at({}, f) * attention_factor;
    ASSERT_EQ(dst.bits_at({}, f), test::to_binary16(exact))
        << std::hexfloat << exact << " became " << dst.at({}, f);
  }
}

// Tests `middle` and the float32 numbers beside it. Makes the frequencies once, to save time.
void expect_right_around(float middle) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  static std::array frequencies = {
      test::frequencies_of(whole_head(2 * powers, Pairing::half)),
      test::frequencies_of(whole_head(2 * powers, Pairing::interleaved))};
  for (const float factor :
       {std::nextafter(middle, -infinity), middle, std::nextafter(middle, infinity)}) {
    for (Frequencies& each : frequencies) {
      each.attention_factor = factor;
      expect_powers_of_two_scaled(each);
    }
  }
}

// Every midpoint of two neighbours in every binade, with the float32 numbers beside it. From the
// last midpoint on, between 65504 and 65536, results are Inf.
TEST(RotateFloat16, RoundsToNearestEvenAroundEveryTie) {
  for (int fraction = 0; fraction < 1024; ++fraction) {
    expect_right_around(1 + (static_cast<float>(fraction) + 0.5F) / 1024);
  }
}

// Subnormals are multiples of 2^-24, so A = n + 1/2 gives a midpoint, A 2^-24.
TEST(RotateFloat16, RoundsToNearestEvenAroundEverySubnormalTie) {
  for (int below = 0; below < 1024; ++below) {
    expect_right_around(static_cast<float>(below) + 0.5F);
  }
}

TEST(RotateFloat16, TheTestsConversionFollowsIeee754) {
  EXPECT_EQ(test::to_binary16(65519.99), 0x7BFF);
  EXPECT_EQ(test::to_binary16(65520), 0x7C00);
  EXPECT_EQ(test::to_binary16(-65536), 0xFC00);
  EXPECT_EQ(test::to_binary16(1 + 0x1p-11), 0x3C00);
  EXPECT_EQ(test::to_binary16(1 + 3 * 0x1p-11), 0x3C02);
  EXPECT_EQ(test::to_binary16(0x1p-25), 0);
  EXPECT_EQ(test::to_binary16(0x1.8p-25), 1);
  EXPECT_EQ(test::to_binary16(0x1.8p-24), 2);
  EXPECT_EQ(test::to_binary16(0x1.ffcp-15), 0x0400);
}

// Multiplies one head by A alone: position 0 has cos 1 and sin 0.
std::vector<std::uint64_t> scaled_by(double attention_factor, Pairing pairing,
                                     const std::vector<std::uint16_t>& features) {
  const auto head_dim = static_cast<std::int64_t>(features.size());
  const HeadWindow window{
      .head_dim = head_dim, .rotary_dim = head_dim, .first_feature = 0, .pairing = pairing};
  Tensor tensor({.dtype = DType::bf16, .extents = {.tokens = 1, .heads = 1, .features = head_dim}});
  for (std::int64_t f = 0; f < head_dim; ++f) {
    tensor.set_bits({}, f, features[static_cast<std::size_t>(f)]);
  }
  test::require(rotate(tensor.view(), tensor.view(),
                       test::rotations_of(test::frequencies_of(window, attention_factor),
                                          ConsecutivePositions{.first = 0, .tokens = 1})));
  return tensor.all_bits();
}

// x = 1 + m 2^-7 with m odd and below 43 gives 1.5 x = 1.5 + (1.5 m) 2^-7, the midpoint of two
// neighbours. The even neighbour is sometimes above, sometimes below.
TEST(RotateBfloat16, TiesGoToEven) {
  std::vector<std::uint16_t> features;
  std::vector<std::uint64_t> expected;
  for (std::uint32_t m = 1; m < 42; m += 2) {
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      features.push_back(static_cast<std::uint16_t>(sign | (0x3F80U + m)));
      const std::uint32_t below = 64 + (3 * m - 1) / 2;  // 0.5 = 64 * 2^-7
      expected.push_back(sign | (0x3F80U + below + (below & 1U)));
    }
  }
  for (const Pairing pairing : test::order_keeping_pairings) {
    EXPECT_EQ(scaled_by(1.5, pairing, features), expected);
  }
}

// Multiplies every normal power of two, and the least subnormal, by 24-bit factors. The factors are
// bf16 numbers, midpoints between bf16 numbers, and float32 numbers beside both.
TEST(RotateBfloat16, RoundsAtEveryExponentOnEachSideOfTheMidpoint) {
  std::vector<std::uint16_t> powers;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      powers.push_back(static_cast<std::uint16_t>(sign | (exponent == 0 ? 1 : exponent << 7)));
    }
  }
  for (std::uint32_t upper = 0; upper < 128; upper += 13) {
    for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      const float factor = 1 + static_cast<float>((upper << 16U) | lower) * 0x1p-23F;
      std::vector<std::uint64_t> expected;
      for (const std::uint16_t power : powers) {
        expected.push_back(stored(test::from_bfloat16(power) * factor));
      }
      for (const Pairing pairing : test::order_keeping_pairings) {
        ASSERT_EQ(scaled_by(factor, pairing, powers), expected) << factor;
      }
    }
  }
}

// The largest bf16 times 1.002 is a finite float32, but above the midpoint to bf16's next step.
TEST(RotateBfloat16, RoundsUpToInfinity) {
  const std::vector<std::uint16_t> features(34, 0x7F7F);
  const std::vector<std::uint64_t> infinities(34, 0x7F80);
  const std::vector<std::uint64_t> largest(34, 0x7F7F);
  for (const Pairing pairing : all_pairings) {
    EXPECT_EQ(scaled_by(1.002, pairing, features), infinities);
    EXPECT_EQ(scaled_by(1.0015, pairing, features), largest);
  }
}

TEST(RotateBfloat16, NaNWithAnyPayloadStaysNaN) {
  const std::vector<std::uint16_t> features = {0x7F81, 0xFF81, 0x7FFF, 0xFFFF, 0x7FC0, 0xFFC0};
  for (const Pairing pairing : all_pairings) {
    for (const std::uint64_t bits : scaled_by(1, pairing, features)) {
      EXPECT_TRUE(std::isnan(test::from_bfloat16(static_cast<std::uint16_t>(bits)))) << bits;
    }
  }
}

}  // namespace
}  // namespace rotary
