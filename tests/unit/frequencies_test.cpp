// SPDX-License-Identifier: Apache-2.0
// make_frequencies against the long double reference, for every rule with ordinary and hostile
// parameters. The tolerance is the conditioning of the formulas in double: base^(-2i/d) inherits
// the half-ulp of its rounded exponent times ln(base).
#include "rotary/frequencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>
#include <vector>

#include "reference/angle.hpp"
#include "reference/frequencies.hpp"
#include "support/frequency_tolerance.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr long double double_epsilon = 0x1p-52L;

RotarySpec spec_with(double base, std::int64_t rotary_dim, const Scaling& scaling) {
  return {.head_dim = rotary_dim, .base = base, .pairing = Pairing::half, .scaling = scaling};
}

void expect_as_reference(const RotarySpec& spec) {
  const Frequencies got = test::value_of(make_frequencies(spec));
  const reference::Frequencies exact = reference::frequencies(spec);
  ASSERT_EQ(got.inv_freq.size(), exact.inv_freq.size());
  for (std::size_t i = 0; i < exact.inv_freq.size(); ++i) {
    const long double allowed = exact.inv_freq[i] * test::frequency_tolerance(spec) + 0x1p-1074L;
    ASSERT_LE(std::abs(got.inv_freq[i] - exact.inv_freq[i]), allowed)
        << rope_type(spec.scaling) << " base " << spec.base.get() << " pair " << i << " of "
        << exact.inv_freq.size() << ": got " << got.inv_freq[i] << ", reference "
        << static_cast<double>(exact.inv_freq[i]);
  }
  ASSERT_LE(std::abs(got.attention_factor - exact.attention_factor),
            exact.attention_factor * 4 * double_epsilon);
}

void expect_as_reference_for_many_specs(const Scaling& scaling) {
  for (const double base : {1.0000001, 2.0, 100.0, 10000.0, 500000.0, 1e11}) {
    for (const std::int64_t rotary_dim : {2, 4, 6, 20, 64, 96, 128, 512}) {
      if (std::holds_alternative<NtkScaling>(scaling) && rotary_dim < 4) continue;
      expect_as_reference(spec_with(base, rotary_dim, scaling));
    }
  }
}

TEST(Frequencies, NoScaling) {
  expect_as_reference_for_many_specs(NoScaling{});
  expect_as_reference(spec_with(1e300, 128, NoScaling{}));
}

TEST(Frequencies, Linear) {
  for (const double factor : {1.0, 4.0, 8.0, 0.5, 1e-6, 1e6, 3.3}) {
    expect_as_reference_for_many_specs(LinearScaling{.factor = factor});
  }
}

// base' has its own rounding, which the exponent d/(d-2) <= 2 at d >= 4 and ln magnify.
TEST(Frequencies, Ntk) {
  for (const double alpha : {1.0, 2.0, 4.0, 1000.0}) {
    for (const double base : {10000.0, 500000.0, 1e6}) {
      for (const std::int64_t rotary_dim : {4, 6, 64, 128}) {
        expect_as_reference(spec_with(base, rotary_dim, NtkScaling{.alpha = alpha}));
      }
    }
  }
}

TEST(Frequencies, NtkTurnsTheSlowestPairAlphaTimesSlower) {
  const auto plain = test::value_of(make_frequencies(spec_with(10000, 64, NoScaling{})));
  const auto scaled =
      test::value_of(make_frequencies(spec_with(10000, 64, NtkScaling{.alpha = 8})));
  EXPECT_NEAR(plain.inv_freq.back() / scaled.inv_freq.back(), 8, 1e-12);
  EXPECT_EQ(scaled.inv_freq.front(), 1);
}

TEST(Frequencies, Yarn) {
  expect_as_reference_for_many_specs(YarnScaling{.factor = 4, .original_context_tokens = 32768});
  expect_as_reference_for_many_specs(YarnScaling{.factor = 32, .original_context_tokens = 4096});
  expect_as_reference_for_many_specs(YarnScaling{
      .factor = 32, .original_context_tokens = 4096, .ramp = YarnRamp::fractional});  // gpt-oss
  expect_as_reference_for_many_specs(
      YarnScaling{.factor = 0.5, .original_context_tokens = 8192, .beta_fast = 16, .beta_slow = 2});
}

// A context shorter than one turn, one longer than any pair's, and a ramp of no width.
TEST(Frequencies, YarnWithRampsOutsideThePairs) {
  for (const YarnRamp ramp : {YarnRamp::whole_pairs, YarnRamp::fractional}) {
    for (const std::int64_t context : {std::int64_t{1}, std::int64_t{5}, std::int64_t{1} << 40}) {
      expect_as_reference_for_many_specs(
          YarnScaling{.factor = 8, .original_context_tokens = context, .ramp = ramp});
    }
    expect_as_reference_for_many_specs(YarnScaling{.factor = 8,
                                                   .original_context_tokens = 4096,
                                                   .beta_fast = 8,
                                                   .beta_slow = 8,
                                                   .ramp = ramp});
  }
}

TEST(Frequencies, YarnAttentionFactor) {
  const auto factor_of = [](const YarnScaling& rule) {
    const RotarySpec spec = spec_with(10000, 64, rule);
    expect_as_reference(spec);
    return test::value_of(make_frequencies(spec)).attention_factor;
  };
  const double growth = 0.1 * std::log(40.0) + 1;
  EXPECT_DOUBLE_EQ(factor_of({.factor = 40, .original_context_tokens = 4096}), growth);
  EXPECT_EQ(factor_of({.factor = 1, .original_context_tokens = 4096}), 1);
  EXPECT_EQ(factor_of({.factor = 0.5, .original_context_tokens = 4096}), 1);
  EXPECT_EQ(factor_of({.factor = 40, .original_context_tokens = 4096, .attention_factor = 0.75}),
            0.75);
  EXPECT_EQ(factor_of({.factor = 40,
                       .original_context_tokens = 4096,
                       .attention_factor = 0.75,
                       .mscale = 2,
                       .mscale_all_dim = 1}),
            0.75);
  // DeepSeek-V3: both given and equal.
  EXPECT_EQ(
      factor_of({.factor = 40, .original_context_tokens = 4096, .mscale = 1, .mscale_all_dim = 1}),
      1);
  EXPECT_DOUBLE_EQ(
      factor_of(
          {.factor = 40, .original_context_tokens = 4096, .mscale = 0.707, .mscale_all_dim = 1}),
      (0.0707 * std::log(40.0) + 1) / growth);
  // One alone, or one that is 0, counts as none given.
  EXPECT_DOUBLE_EQ(factor_of({.factor = 40, .original_context_tokens = 4096, .mscale = 3}), growth);
  EXPECT_DOUBLE_EQ(factor_of({.factor = 40, .original_context_tokens = 4096, .mscale_all_dim = 3}),
                   growth);
  EXPECT_DOUBLE_EQ(
      factor_of({.factor = 40, .original_context_tokens = 4096, .mscale = 0, .mscale_all_dim = 3}),
      growth);
}

TEST(Frequencies, Llama3) {
  const Llama3Scaling llama31{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  expect_as_reference_for_many_specs(llama31);
  Llama3Scaling llama32 = llama31;
  llama32.factor = 32;
  expect_as_reference_for_many_specs(llama32);
  Llama3Scaling empty_band = llama31;
  empty_band.high_freq_factor = 1;  // Llama 4 Scout: nothing is blended
  empty_band.factor = 16;
  expect_as_reference_for_many_specs(empty_band);
  for (const std::int64_t context : {std::int64_t{1}, std::int64_t{1} << 40}) {
    Llama3Scaling extreme = llama31;
    extreme.original_context_tokens = context;
    expect_as_reference_for_many_specs(extreme);
  }
}

TEST(Frequencies, DependOnTheRotatedPartAlone) {
  const RotarySpec partial{.head_dim = 96,
                           .rotary_dim = 24,
                           .first_feature = 8,
                           .base = 10000.0,
                           .pairing = Pairing::half};
  const auto got = test::value_of(make_frequencies(partial));
  EXPECT_EQ(got.inv_freq,
            test::value_of(make_frequencies(spec_with(10000, 24, NoScaling{}))).inv_freq);
  EXPECT_EQ(got.window.first_feature, 8);
  EXPECT_EQ(got.window.head_dim, 96);
}

TEST(Frequencies, ExplicitListIsKept) {
  const HeadWindow window{
      .head_dim = 8, .rotary_dim = 6, .first_feature = 2, .pairing = Pairing::interleaved};
  const std::vector<double> list = {0, 0x1.fffffffffffffp+39, 0x1p-1074};
  const auto got = test::value_of(make_frequencies(window, list, 0.5));
  EXPECT_EQ(got.inv_freq, list);
  EXPECT_EQ(got.attention_factor, 0.5);
  EXPECT_EQ(got.window.rotary_dim, 6);
}

// turns is inv_freq / 2 pi modulo 1, in units of 2^-64, to the nearest: the angle after one step is
// then within 2 pi 2^-65 of the truth.
TEST(Frequencies, TurnsAreHalfAUnitFromTheTruth) {
  test::Random random(25);
  std::vector<double> list = {0,         1,      0x1.921fb54442d18p+2, 0x1.fffffffffffffp+39,
                              0x1p-1074, 0x1p-61};
  while (list.size() < 200) {
    list.push_back(std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-70, 38))));
  }
  const auto dim = static_cast<std::int64_t>(2 * list.size());
  const HeadWindow window{
      .head_dim = dim, .rotary_dim = dim, .first_feature = 0, .pairing = Pairing::half};
  const auto got = test::value_of(make_frequencies(window, list, 1));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto exact = reference::cos_sin(1, list[i]);
    const long double turn = static_cast<long double>(static_cast<std::int64_t>(got.turns[i])) *
                             0x1p-64L * 2 * std::numbers::pi_v<long double>;
    // sin(a - b) of the two angles is their distance, to first order.
    const long double distance = std::sin(turn) * exact.cos - std::cos(turn) * exact.sin;
    ASSERT_LE(std::abs(distance), std::numbers::pi_v<long double> * 0x1p-64L + 0x1p-62L)
        << std::hexfloat << list[i];
  }
}

}  // namespace
}  // namespace rotary
