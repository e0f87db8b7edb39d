// SPDX-License-Identifier: Apache-2.0
// Rows of Numerics::transformers and ggml have the bits of reference/recipes, which restates the
// arithmetic of these engines.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/recipes.hpp"
#include "rotary/rotary.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

constexpr DType table_dtypes[] = {DType::f32, DType::bf16, DType::f16};
// Includes 2^24 + 1, the first integer that float32 cannot hold, and far larger positions.
const std::vector<std::int64_t> any_positions = {
    0, 1, -7, 1000, 131071, 16777217, -99999999, 2147483647, 1LL << 40, -(1LL << 62) - 12345};
const std::vector<std::int32_t> int32_positions = {0,      1,        -7,        1000,
                                                   131071, 16777217, -99999999, 2147483647};

void expect_bits(std::span<const float> got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(wanted[i]))
        << "pair " << i << ": " << got[i] << " and " << wanted[i];
  }
}

void expect_row(const Rotations& rotations, std::int64_t token,
                const reference::RecipeRow& wanted) {
  expect_bits(rotations.cos(0, token), wanted.cos);
  expect_bits(rotations.sin(0, token), wanted.sin);
}

RotarySpec spec_of(Numerics numerics, const Scaling& scaling = NoScaling{}) {
  return {.head_dim = 90,
          .rotary_dim = 74,
          .first_feature = 3,
          .base = 500000.0,
          .pairing = Pairing::half,
          .scaling = scaling,
          .numerics = numerics};
}

// Number is int64, or double for positions between integers.
template <class Number>
void expect_transformers(const RotarySpec& spec, DType dtype,
                         const std::vector<Number>& positions) {
  const Frequencies frequencies = value_of(make_frequencies(spec));
  const Rotations rotations =
      value_of(make_rotations(frequencies, positions_of(std::span(positions)), {.tensors = dtype}));
  EXPECT_EQ(rotations.numerics(), Numerics::transformers);
  EXPECT_EQ(rotations.rounding(), spec.rounding);
  EXPECT_EQ(rotations.tensors(), dtype);
  for (std::size_t t = 0; t < positions.size(); ++t) {
    SCOPED_TRACE(positions[t]);
    expect_row(rotations, static_cast<std::int64_t>(t),
               reference::transformers_row({.inv_freq = frequencies.inv_freq,
                                            .attention_scaling = frequencies.attention_factor,
                                            .rounding = spec.rounding,
                                            .dtype = dtype},
                                           static_cast<double>(static_cast<float>(positions[t]))));
  }
}

TEST(RecipeRows, MatchTransformersForEveryRounding) {
  const YarnScaling yarn{.factor = 4, .original_context_tokens = 8192};
  for (const Scaling& scaling : {Scaling(NoScaling{}), Scaling(yarn)}) {
    for (const Rounding rounding : {Rounding::every_step, Rounding::table, Rounding::result}) {
      for (const DType dtype : table_dtypes) {
        SCOPED_TRACE(to_string(rounding));
        SCOPED_TRACE(to_string(dtype));
        RotarySpec spec = spec_of(Numerics::transformers, scaling);
        spec.rounding = rounding;
        expect_transformers(spec, dtype, any_positions);
        expect_transformers(spec, dtype, std::vector<double>{0.5, -3.25, 1e6 + 0.1});
      }
    }
  }
}

// The reference gets positions in float32, so only positions that float32 holds are compared.
TEST(RecipeRows, MatchTransformersForDoubleAngles) {
  RotarySpec spec = spec_of(Numerics::transformers);
  spec.rounding = Rounding::double_angle;
  for (const DType dtype : table_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    expect_transformers(spec, dtype, std::vector<std::int64_t>{0, 1, -7, 1000, 131071, 1LL << 30});
  }
}

// In f16 the sines of slow pairs are subnormal, below 2^-14.
TEST(RecipeRows, TablesHoldSubnormalNumbers) {
  const RotarySpec spec = spec_of(Numerics::transformers);
  const Rotations rotations = value_of(make_rotations(value_of(make_frequencies(spec)),
                                                      ConsecutivePositions{.first = 1, .tokens = 1},
                                                      {.tensors = DType::f16}));
  const float slowest = rotations.sin(0, 0).back();
  EXPECT_GT(slowest, 0);
  EXPECT_LT(slowest, 0x1p-14F);
  EXPECT_EQ(slowest, std::round(slowest * 0x1p24F) * 0x1p-24F);
}

void expect_ggml(const RotarySpec& spec, const reference::GgmlRope& rope) {
  const Frequencies frequencies = value_of(make_frequencies(spec));
  const Rotations rotations =
      value_of(make_rotations(frequencies, positions_of(std::span(int32_positions))));
  EXPECT_EQ(rotations.numerics(), Numerics::ggml);
  for (std::size_t t = 0; t < int32_positions.size(); ++t) {
    SCOPED_TRACE(int32_positions[t]);
    expect_row(rotations, static_cast<std::int64_t>(t),
               reference::ggml_row(rope, int32_positions[t]));
  }
}

TEST(RecipeRows, MatchGgmlWithoutFactors) {
  const reference::GgmlRope plain{.n_dims = 74, .freq_base = 500000};
  expect_ggml(spec_of(Numerics::ggml), plain);

  auto linear = plain;
  linear.freq_scale = 1.0F / 3.0F;
  expect_ggml(spec_of(Numerics::ggml, LinearScaling{.factor = 3}), linear);

  // The converter folds alpha into the base.
  auto ntk = plain;
  ntk.freq_base = static_cast<float>(500000 * std::pow(8.0, 74.0 / 72.0));
  expect_ggml(spec_of(Numerics::ggml, NtkScaling{.alpha = 8}), ntk);
}

// llama-context.cpp divides the wanted factor (the model's, or 0.1 ln f + 1) by 0.1 ln f + 1. ggml
// multiplies the quotient, attn_factor, by 0.1 ln f + 1 again.
TEST(RecipeRows, MatchGgmlForYarn) {
  const float growth = 0.1F * std::log(32.0F) + 1;
  for (const auto ramp : {YarnRamp::whole_pairs, YarnRamp::fractional}) {
    const YarnScaling yarn{.factor = 32, .original_context_tokens = 4096, .ramp = ramp};
    const reference::GgmlRope rope{.n_dims = 74,
                                   .n_ctx_orig = 4096,
                                   .freq_base = 500000,
                                   .freq_scale = 1.0F / 32,
                                   .ext_factor = 1,
                                   .attn_factor = growth * (1 / growth)};
    expect_ggml(spec_of(Numerics::ggml, yarn), rope);
  }
  const YarnScaling with_factor{.factor = 32,
                                .original_context_tokens = 4096,
                                .beta_fast = 24,
                                .beta_slow = 2,
                                .attention_factor = 1};
  expect_ggml(spec_of(Numerics::ggml, with_factor), {.n_dims = 74,
                                                     .n_ctx_orig = 4096,
                                                     .freq_base = 500000,
                                                     .freq_scale = 1.0F / 32,
                                                     .ext_factor = 1,
                                                     .attn_factor = 1 / growth,
                                                     .beta_fast = 24,
                                                     .beta_slow = 2});
}

// The converter stores these factors in rope_freqs.weight: 1, 8, or a blend between them.
TEST(RecipeRows, MatchGgmlWithFactors) {
  const RotarySpec spec = spec_of(Numerics::ggml, Llama3Scaling{8, 1, 4, 8192});
  const auto factors = value_of(make_frequencies(spec)).ggml->freq_factors;
  ASSERT_EQ(factors.size(), 37U);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double wavelength = 2 * M_PI * std::pow(500000.0, 2.0 * static_cast<double>(i) / 74);
    double stored = 1;
    if (wavelength > 8192) {
      stored = 8;
    } else if (wavelength >= 2048) {
      const double smooth = (8192 / wavelength - 1) / 3;
      stored = 1 / ((1 - smooth) / 8 + smooth);
    }
    EXPECT_NEAR(factors[i], stored, stored * 0x1p-23) << "pair " << i;
  }
  expect_ggml(spec, {.n_dims = 74, .freq_base = 500000, .freq_factors = factors});
}

TEST(RecipeRows, PaddedPairsHoldTheAttentionFactorAndZero) {
  RotarySpec spec =
      spec_of(Numerics::transformers,
              YarnScaling{.factor = 4, .original_context_tokens = 8192, .attention_factor = 1.3});
  const Rotations rotations = value_of(make_rotations(value_of(make_frequencies(spec)),
                                                      ConsecutivePositions{.first = 5, .tokens = 1},
                                                      {.tensors = DType::bf16}));
  const auto* const row = reinterpret_cast<const float*>(rotations.data());
  ASSERT_GT(rotations.lane_stride(), 37);
  for (std::int64_t lane = 37; lane < rotations.lane_stride(); ++lane) {
    EXPECT_EQ(row[lane], reference::nearest(DType::bf16, 1.3L));
    EXPECT_EQ(row[rotations.lane_stride() + lane], 0);
  }
}

}  // namespace
}  // namespace rotary
