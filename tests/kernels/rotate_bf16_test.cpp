// SPDX-License-Identifier: Apache-2.0
// A bf16 result is the float32 result rounded once, to nearest, ties to even.
#include <gtest/gtest.h>

#include <cmath>

#include "rotary/instruction_set.hpp"
#include "rotary/rotate.hpp"
#include "support/bfloat16.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

// A float32 result as stored. The instructions of AVX512_BF16 flush a subnormal one to a zero of
// its sign.
std::uint16_t stored(float result) {
  static const bool flushes = test::value_of(instruction_set()) == "AVX3_BF16";
  const bool is_subnormal = std::fpclassify(result) == FP_SUBNORMAL;
  return test::to_bfloat16(flushes && is_subnormal ? std::copysign(0.0F, result) : result);
}

TEST(RotateBfloat16, IsTheFloatResultRoundedOnce) {
  constexpr Extents extents{.batch = 2, .tokens = 9, .heads = 5, .features = 74};
  for (const Pairing pairing : all_pairings) {
    for (const Direction direction : test::all_directions) {
      SCOPED_TRACE(test::describe(DType::bf16, pairing, direction));
      const HeadWindow window{
          .head_dim = 74, .rotary_dim = 70, .first_feature = 1, .pairing = pairing};
      const Rotations rotations = test::rotations_of(
          test::frequencies_of(window, 1.25), ConsecutivePositions{.first = 30, .tokens = 9});
      Tensor narrow({.dtype = DType::bf16, .extents = extents});
      test::Random random(14);
      fill_with_any_magnitude(narrow, random);
      Tensor wide({.dtype = DType::f32, .extents = extents});
      test::for_each_element(extents, [&](const HeadIndex& index, std::int64_t f) {
        wide.set(index, f, narrow.at(index, f));
      });
      test::require(rotate(narrow.view(), narrow.view(), rotations, {.direction = direction}));
      test::require(rotate(wide.view(), wide.view(), rotations, {.direction = direction}));
      test::for_each_element(extents, [&](const HeadIndex& index, std::int64_t f) {
        ASSERT_EQ(narrow.bits_at(index, f), stored(static_cast<float>(wide.at(index, f))));
      });
    }
  }
}

// All features of one head multiplied by A alone: position 0 has cos 1 and sin 0.
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

// x = 1 + m 2^-7 with m odd and below 43 gives 1.5 x = 1.5 + (1.5 m) 2^-7: exactly between two
// neighbours, of which the even one must be taken. Both directions occur.
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

// Every power of two, subnormal ones included, times numbers of 24 bits: the bf16 itself, the
// middle to the next one, and what lies just beside either.
TEST(RotateBfloat16, EveryExponentAndEachSideOfTheMiddle) {
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

// The largest bf16 times 1.002 is below the largest float32 but above the middle to the next bf16.
TEST(RotateBfloat16, RoundsUpToInfinity) {
  const std::vector<std::uint16_t> features(34, 0x7F7F);
  const std::vector<std::uint64_t> infinities(34, 0x7F80);
  const std::vector<std::uint64_t> largest(34, 0x7F7F);
  for (const Pairing pairing : all_pairings) {
    EXPECT_EQ(scaled_by(1.002, pairing, features), infinities);
    EXPECT_EQ(scaled_by(1.0015, pairing, features), largest);
  }
}

TEST(RotateBfloat16, NanWithAnyPayloadStaysNan) {
  const std::vector<std::uint16_t> features = {0x7F81, 0xFF81, 0x7FFF, 0xFFFF, 0x7FC0, 0xFFC0};
  for (const Pairing pairing : all_pairings) {
    for (const std::uint64_t bits : scaled_by(1, pairing, features)) {
      EXPECT_TRUE(std::isnan(test::from_bfloat16(static_cast<std::uint16_t>(bits)))) << bits;
    }
  }
}

}  // namespace
}  // namespace rotary
