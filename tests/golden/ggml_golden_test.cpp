// SPDX-License-Identifier: Apache-2.0
// Compares Numerics::ggml with llama.cpp: the largest differences of A cos between ggml,
// Transformers and exact values must equal those measured with llama.cpp's functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/rotary.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

constexpr std::int64_t probed_positions[] = {1, 1000, 4095, 32767, 131071};

RotarySpec llama2(Numerics numerics) {
  return {.head_dim = 128, .base = 10000.0, .pairing = Pairing::half, .numerics = numerics};
}

RotarySpec gpt_oss(Numerics numerics, YarnRamp ramp) {
  return {.head_dim = 64,
          .base = 150000.0,
          .pairing = Pairing::half,
          .scaling = YarnScaling{.factor = 32, .original_context_tokens = 4096, .ramp = ramp},
          .numerics = numerics};
}

// For pair 6 of gpt-oss, torch's pow gives the float32 after the nearest one. This causes the
// largest difference at position 32767.
void use_pow_of_torch(Frequencies& frequencies) {
  double& sixth = frequencies.inv_freq[6];
  sixth = std::nextafter(static_cast<float>(sixth), 1.0F);
}

Rotations rotations_at(const RotarySpec& spec, std::int64_t position) {
  const ConsecutivePositions positions{position, 1};
  Frequencies frequencies = value_of(make_frequencies(spec));
  if (spec.numerics == Numerics::exact) {
    return value_of(make_rotations(frequencies, positions, {.rows = RowDType::f64}));
  }
  const bool is_gpt_oss = std::holds_alternative<YarnScaling>(spec.scaling);
  if (is_gpt_oss && spec.numerics == Numerics::transformers) use_pow_of_torch(frequencies);
  return value_of(make_rotations(frequencies, positions, {.tensors = DType::f32}));
}

std::vector<double> cos_of(const RotarySpec& spec, std::int64_t position) {
  const Rotations rotations = rotations_at(spec, position);
  const auto wide = rotations.cos<double>(0, 0);
  const auto narrow = rotations.cos<float>(0, 0);
  if (rotations.row_dtype() == RowDType::f64) return {wide.begin(), wide.end()};
  return {narrow.begin(), narrow.end()};
}

double largest_difference(const RotarySpec& a, const RotarySpec& b, std::int64_t position) {
  const auto one = cos_of(a, position);
  const auto other = cos_of(b, position);
  test::record_bits(one);
  test::record_bits(other);
  double largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    largest = std::max(largest, std::abs(one[i] - other[i]));
  }
  return largest;
}

// Compares with the measured number within 0.1 % plus 2^-23, the error of a cosf that misses the
// nearest float32.
void expect_probed(const nlohmann::json& probe, const char* name, double got) {
  const double wanted = probe.at(name).get<double>();
  EXPECT_NEAR(got, wanted, 0.001 * wanted + 0x1p-23) << name;
}

TEST(GgmlGolden, PlainFrequenciesAgree) {
  const auto file = test::read_golden("ggml_vs_hf_probe");
  int probed = 0;
  for (const std::int64_t position : probed_positions) {
    const std::string key = "llama2 plain pos " + std::to_string(position);
    if (!file.contains(key)) continue;
    SCOPED_TRACE(key);
    ++probed;
    const RotarySpec exact = llama2(Numerics::exact);
    const RotarySpec ggml = llama2(Numerics::ggml);
    const RotarySpec transformers = llama2(Numerics::transformers);
    const auto& probe = file.at(key);
    expect_probed(probe, "ggml_vs_hf", largest_difference(ggml, transformers, position));
    expect_probed(probe, "ggml_vs_exact", largest_difference(ggml, exact, position));
    expect_probed(probe, "hf_vs_exact", largest_difference(transformers, exact, position));
  }
  EXPECT_EQ(probed, 4);
}

// The ends of gpt-oss's ramp are fractional, but llama.cpp rounds them.
TEST(GgmlGolden, YarnsRampIsTruncated) {
  const auto file = test::read_golden("ggml_vs_hf_probe");
  int probed = 0;
  for (const std::int64_t position : probed_positions) {
    const std::string key = "gpt-oss pos " + std::to_string(position);
    if (!file.contains(key)) continue;
    SCOPED_TRACE(key);
    ++probed;
    const auto& probe = file.at(key);
    const RotarySpec ggml = gpt_oss(Numerics::ggml, YarnRamp::fractional);
    const auto angles = value_of(make_frequencies(ggml)).ggml;
    EXPECT_EQ(angles->ramp_low, probe.at("corr_dims").at(0).get<float>());
    EXPECT_EQ(angles->ramp_high, probe.at("corr_dims").at(1).get<float>());
    const auto difference = [&](YarnRamp ramp) {
      return largest_difference(ggml, gpt_oss(Numerics::transformers, ramp), position);
    };
    expect_probed(probe, "ggml_vs_hf_notrunc", difference(YarnRamp::fractional));
    expect_probed(probe, "ggml_vs_hf_truncated", difference(YarnRamp::whole_pairs));
  }
  EXPECT_EQ(probed, 5);
}

}  // namespace
}  // namespace rotary
