// SPDX-License-Identifier: Apache-2.0
// Compares Numerics::transformers with Transformers' classes, in float32 and, if the file has them,
// bfloat16 and float16. Numbers are equal unless torch's pow, cos or sin misses the nearest
// float32. Exact angles would miss the bound at position 131071 by thousands of units.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/rotary.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

struct Case {
  std::string name;
  RotarySpec spec;
};

class NumericsGolden : public testing::TestWithParam<Case> {};

RotarySpec spec_of(std::int64_t head_dim, std::int64_t rotary_dim, double base, Pairing pairing) {
  return {.head_dim = head_dim, .rotary_dim = rotary_dim, .base = base, .pairing = pairing};
}

Case rounding(Case of, Rounding rounding) {
  of.spec.rounding = rounding;
  return of;
}

Case scaled(Case of, const Scaling& scaling) {
  of.spec.scaling = scaling;
  return of;
}

// Resolves the file's config; pairing, sense and rounding come from the family.
Case resolved(const std::string& name, std::string_view model_type) {
  return {name, test::resolved_spec(test::read_golden(name).at("config"), model_type,
                                    Numerics::transformers)};
}

// Specs from the files' configs, or from the notes of files without a config.
std::vector<Case> cases() {
  constexpr Pairing interleaved = Pairing::interleaved;
  return {
      resolved("llama_half_split", "llama"),
      resolved("llama_linear4", "llama"),
      resolved("llama31_scaled", "llama"),
      resolved("llama_yarn4_mscale", "llama"),
      resolved("gpt_neox_partial25", "gpt_neox"),
      resolved("glm4_interleaved_partial50", "glm4"),
      resolved("nanochat_negative_rotation", "nanochat"),
      {"gptj_interleaved_partial", spec_of(32, 16, 10000, interleaved)},
      scaled({"gemma4_proportional", spec_of(64, 64, 1000000, Pairing::half)},
             ProportionalScaling{.turning_fraction = 0.25}),
      rounding(scaled({"deepseek_v2_complex_interleaved", spec_of(64, 64, 10000, interleaved)},
                      YarnScaling{.factor = 40,
                                  .original_context_tokens = 4096,
                                  .mscale = 0.707,
                                  .mscale_all_dim = 0.707}),
               Rounding::result),
      rounding({"llama4_complex_interleaved", spec_of(64, 64, 500000, interleaved)},
               Rounding::result),
      rounding({"roformer_sinusoidal", spec_of(16, 16, 10000, interleaved)},
               Rounding::double_angle),
  };
}

Frequencies frequencies_of(RotarySpec spec) {
  spec.numerics = Numerics::transformers;
  return test::value_of(make_frequencies(spec));
}

TEST_P(NumericsGolden, AgreesOnEveryDtype) {
  const auto file = test::read_golden(GetParam().name);
  const Frequencies frequencies = frequencies_of(GetParam().spec);
  const auto positions = file.at("positions").get<std::vector<std::int64_t>>();
  const auto tolerance = [&](const test::HeadIndex& at, std::size_t pair, double hypot) {
    const auto position = static_cast<double>(positions[static_cast<std::size_t>(at.token)]);
    return hypot * transformers_agreement(frequencies.attention_factor, position,
                                          std::abs(frequencies.inv_freq[pair]));
  };
  const auto check = [&](DType dtype, const nlohmann::json& outputs) {
    const Rotations rotations = test::value_of(
        make_rotations(frequencies, positions_of(std::span(positions)), {.tensors = dtype}));
    const test::Agreement total = test::expect_rotated(file, outputs, rotations, dtype, tolerance);
    const std::string name(to_string(dtype));
    RecordProperty(name + "_elements", total.elements);
    RecordProperty(name + "_equal", total.equal);
    // Today all elements are equal. With a single rounding, four fifths would be.
    if (dtype != DType::f32) {
      EXPECT_GE(total.equal, total.elements * 0.98) << name;
    }
  };
  check(DType::f32, file);
  if (!file.contains("half_precision")) return;
  check(DType::bf16, file.at("half_precision").at("bfloat16"));
  check(DType::f16, file.at("half_precision").at("float16"));
}

INSTANTIATE_TEST_SUITE_P(Transformers, NumericsGolden, testing::ValuesIn(cases()),
                         [](const auto& golden) { return golden.param.name; });

}  // namespace
}  // namespace rotary
