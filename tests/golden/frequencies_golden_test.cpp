// SPDX-License-Identifier: Apache-2.0
// Compares inv_freq and attention factors with other programs' float32 values and with more exact
// ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/spec_json.hpp"
#include "support/frequency_tolerance.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

// Real models' configs: Transformers' float32 values, and its formulas computed in double by NumPy.
class FrequenciesGolden : public testing::TestWithParam<std::string> {};

// The length for which Transformers computed the result. Null means the class's initial state,
// which has the frequencies of the original context.
std::int64_t context_of(const nlohmann::json& result) {
  if (!result.contains("seq_len")) return 1;
  const auto& given = result.at("seq_len");
  return given.is_null() ? 1 : given.get<std::int64_t>();
}

// Twice the tolerance: both sides are computed in double. The file's LongRoPE lists are float32.
double reference_tolerance(const RotarySpec& spec, std::int64_t context) {
  const bool has_lists = std::holds_alternative<LongRopeScaling>(spec.scaling);
  return 2 * test::frequency_tolerance(spec, context) + (has_lists ? 0x1p-24 : 0);
}

// Gemma 4's entries describe one layer type each, but its class needs two. llama needs one.
std::string family_of(const nlohmann::json& given) {
  const auto family = given.at("family").get<std::string>();
  return family == "gemma4" ? "llama" : family;
}

nlohmann::json config_of(const nlohmann::json& given) {
  auto config = given.at("config");
  // The file's ESM result is of the rotary class, which EsmModel uses only with this value.
  if (given.at("family") == "esm") config["position_embedding_type"] = "rotary";
  return config;
}

void expect_agreement(const ModelRotary& rotary, const nlohmann::json& result) {
  const std::int64_t context = context_of(result);
  SCOPED_TRACE("context of " + std::to_string(context));
  EXPECT_EQ(rope_type(rotary.spec.scaling), result.at("rope_type").get<std::string>());
  // Frequencies do not depend on the pairing.
  RotarySpec spec = rotary.spec;
  spec.pairing = Pairing::half;
  const Frequencies got = test::value_of(make_frequencies(spec, context));
  EXPECT_TRUE(got.contexts.contains(context));
  test::record_bits(got.inv_freq);
  EXPECT_EQ(got.window.head_dim, result.at("head_dim").get<std::int64_t>());
  EXPECT_EQ(got.window.rotary_dim, result.at("rotary_dim").get<std::int64_t>());
  const auto factor = result.at("attention_scaling").get<double>();
  EXPECT_NEAR(got.attention_factor, factor, factor * 4 * 0x1p-52);
  // 4.5 ulp of a double in [1, 2).
  EXPECT_NEAR(rotary.softmax_factor, result.value("softmax_scale_multiplier", 1.0), 1e-15);
  test::expect_near(got.inv_freq, result.at("inv_freq_f32").get<std::vector<double>>(),
                    test::float32_tolerance);
  test::expect_near(got.inv_freq, result.at("inv_freq_f64_reference").get<std::vector<double>>(),
                    reference_tolerance(spec, context));
}

TEST_P(FrequenciesGolden, AgreesWithTransformers) {
  const auto given = test::read_golden("model_frequencies").at("models").at(GetParam());
  const ModelSpec model = test::resolved_model(config_of(given), family_of(given));
  for (const auto& result : given.at("results"))
    expect_agreement(test::rotary_of(model, result.value("layer_type", "")), result);
}

std::string without_dots(std::string name) {
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Transformers, FrequenciesGolden,
    testing::Values("deepseek_v2_236b_variant_mscale_0.707_1.0", "deepseek_v2_lite", "esm2_650m",
                    "falcon_7b", "gemma2_9b", "gemma3_1b", "gemma3_27b", "gemma4_full_proportional",
                    "gemma4_sliding", "glm4_9b", "gpt_neox_20b", "gpt_oss_20b",
                    "internlm2.5_7b_dynamic2", "llama2_7b", "llama3.1_8b", "llama3.2_1b",
                    "llama3_8b", "llama4_scout_text", "longchat_7b_32k_linear8", "mimo_v2_flash",
                    "mistral_7b_v0.1", "phi3.5_mini_longrope", "phi3_vision_128k_su", "phi_2",
                    "qwen2.5_7b", "qwen2.5_7b_yarn4", "qwen2_vl_7b", "stablelm_2_1.6b",
                    "vicuna_dynamic4_head128", "yarn_llama2_7b_128k"),
    [](const auto& golden) { return without_dots(golden.param); });

// Scaling rules that are formulas: reference values of 50 digits.
TEST(FormulaRules, FrequenciesAgreeWith50Digits) {
  const auto file = test::read_golden("formula_rules");
  for (const auto& golden : file.at("cases")) {
    const RotarySpec spec = test::value_of(parse_rotary_spec(golden.at("spec").dump()));
    SCOPED_TRACE(golden.at("spec").dump());
    const auto got = test::value_of(make_frequencies(spec)).inv_freq;
    const auto wanted = golden.at("inv_freq").get<std::vector<double>>();
    test::record_bits(got);
    test::expect_near(got, wanted, test::frequency_tolerance(spec));
  }
}

// vLLM's rope_type "ntk", which Transformers lacks.
void expect_as_vllm(const nlohmann::json& golden) {
  MixedNtkScaling rule{.factor = golden.at("factor").get<double>()};
  if (!golden.at("mixed_b").is_null()) rule.mixed_b = golden.at("mixed_b").get<double>();
  const Frequencies got =
      test::value_of(make_frequencies({.head_dim = golden.at("dim").get<std::int64_t>(),
                                       .base = golden.at("theta").get<double>(),
                                       .pairing = Pairing::half,
                                       .scaling = rule}));
  const auto wanted = golden.at("inv_freq").at("data").get<std::vector<double>>();
  test::record_bits(got.inv_freq);
  test::expect_near(got.inv_freq, wanted, test::float32_tolerance);
}

TEST(MixedNtkGolden, AgreesWithVllm) {
  const auto file = test::read_golden("vllm_ntk");
  for (const char* const form : {"ntk_fixed", "ntk_mixed"}) {
    SCOPED_TRACE(form);
    expect_as_vllm(file.at(form));
  }
}

// inv_freq under Numerics::transformers has the bits of Transformers' own functions, unless torch's
// pow misses the nearest float32.

std::vector<double> frequencies_of(const nlohmann::json& golden) {
  const RotarySpec spec = test::value_of(parse_rotary_spec(golden.at("spec").dump()));
  std::optional<std::int64_t> context;
  if (!golden.at("context_tokens").is_null()) context = golden.at("context_tokens");
  return test::value_of(make_frequencies(spec, context)).inv_freq;
}

// The difference in float32 units in the last place.
double units_apart(double got, double wanted) {
  const auto number = static_cast<float>(wanted);
  const float next = std::nextafter(number, std::numeric_limits<float>::infinity());
  return std::abs(got - wanted) / static_cast<double>(next - number);
}

TEST(Float32Frequencies, AreWithin2UlpOfTransformers) {
  const auto file = test::read_golden("float32_frequencies");
  std::map<std::string, test::Agreement> rules;
  for (const auto& golden : file.at("cases")) {
    SCOPED_TRACE(golden.at("spec").dump().substr(0, 300));
    const auto got = frequencies_of(golden);
    const auto wanted = golden.at("inv_freq").get<std::vector<double>>();
    test::record_bits(got);
    ASSERT_EQ(got.size(), wanted.size());
    test::Agreement& rule = rules[golden.at("rule")];
    for (std::size_t pair = 0; pair < got.size(); ++pair) {
      ++rule.elements;
      rule.equal += got[pair] == wanted[pair] ? 1 : 0;
      EXPECT_LE(units_apart(got[pair], wanted[pair]), 2) << "pair " << pair;
    }
  }
  EXPECT_EQ(rules.size(), 7U);
  for (const auto& [name, rule] : rules) {
    RecordProperty(name + "_equal", rule.equal);
    RecordProperty(name, rule.elements);
    // Each torch pow misses the nearest float32 about once in 100; dynamic NTK uses two.
    EXPECT_GE(rule.equal, 0.975 * rule.elements) << name;
  }
}

// Dynamic NTK of Transformers keeps the frequencies of the longest context so far, until a context
// fits in the original one. Here the caller keeps the length, and must get equal frequencies.

// dynamic_frequency_update in modeling_rope_utils.py, lines 82 to 119.
std::int64_t next_length(std::int64_t length, std::int64_t tokens, std::int64_t original) {
  if (tokens > length) return tokens;
  return tokens < original ? original : length;
}

TEST(DynamicNtkState, FrequenciesFollowTheCallersLength) {
  const auto file = test::read_golden("dynamic_ntk_state_sequence");
  const auto& config = file.at("config");
  const auto original = config.at("max_position_embeddings").get<std::int64_t>();
  const RotarySpec spec{.head_dim = config.at("head_dim").get<std::int64_t>(),
                        .base = config.at("theta").get<double>(),
                        .pairing = Pairing::half,
                        .scaling = DynamicNtkScaling{.factor = config.at("factor").get<double>(),
                                                     .original_context_tokens = original}};
  std::int64_t length = original;
  for (const auto& call : file.at("calls")) {
    const auto tokens = call.at("max_position_id").get<std::int64_t>() + 1;
    SCOPED_TRACE("a forward pass of " + std::to_string(tokens) + " tokens");
    length = next_length(length, tokens, original);
    EXPECT_EQ(length, call.at("max_seq_len_cached").get<std::int64_t>());
    const Frequencies got = test::value_of(make_frequencies(spec, length));
    test::record_bits(got.inv_freq);
    const auto wanted = call.at("inv_freq_last").get<double>();
    EXPECT_NEAR(got.inv_freq.back(), wanted, wanted * 0x1p-20);  // 8 ulp
    // False if Transformers continues with the frequencies of an earlier, longer context.
    EXPECT_EQ(got.contexts.contains(tokens), length == tokens || length == original);
  }
}

}  // namespace
}  // namespace rotary
