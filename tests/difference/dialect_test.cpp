// SPDX-License-Identifier: Apache-2.0
#include "rotary/dialect.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_difference.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::string_view dynamic_config = R"({"model_type": "llama", "hidden_size": 128,
  "num_attention_heads": 2, "max_position_embeddings": 2048, "rope_theta": 10000.0,
  "rope_scaling": {"rope_type": "dynamic", "factor": 4.0}})";

constexpr std::string_view qwen3_vl = R"({"model_type": "qwen3_vl_text", "hidden_size": 4096,
  "num_attention_heads": 32, "head_dim": 128, "max_position_embeddings": 262144,
  "rope_theta": 5000000.0, "rope_scaling": {"rope_type": "default",
  "mrope_section": [24, 20, 20], "mrope_interleaved": true}})";

std::string of_family(std::string_view llama, std::string_view family) {
  std::string config(llama);
  return config.replace(config.find("llama"), 5, family);
}

DialectReading reading_of(std::string_view config, std::string_view dialect) {
  return test::value_of(read_as(config, test::value_of(parse_dialect(dialect))));
}

ModelDifference between(std::string_view config, std::string_view one, std::string_view other) {
  const DialectReading mine = reading_of(config, one);
  const DialectReading theirs = reading_of(config, other);
  return test::value_of(
      compare_models(mine.model, theirs.model, {.one = mine.lengths, .other = theirs.lengths}));
}

std::vector<std::string_view> names_of(const DialectReading& reading) {
  std::vector<std::string_view> names;
  for (const DialectRule* rule : reading.acted) names.push_back(rule->name);
  return names;
}

using Names = std::vector<std::string_view>;

TEST(Dialect, NamesAreParsedAndPrinted) {
  for (const std::string_view name :
       {"transformers", "transformers@4.51", "llama.cpp", "vllm", "mlx", "onnxruntime", "sglang"}) {
    EXPECT_EQ(test::value_of(to_string(test::value_of(parse_dialect(name)))), name);
  }
  EXPECT_EQ(test::value_of(parse_dialect("transformers@4.51.3")),
            (Dialect{Engine::transformers, EngineVersion{4, 51}}));
}

TEST(Dialect, UnknownNamesAndVersionsAreRefused) {
  EXPECT_EQ(parse_dialect("tensorrt").error().message,
            "a dialect must be transformers, llama.cpp, vllm, mlx, onnxruntime or sglang, such as "
            "transformers@4.51, got 'tensorrt'");
  EXPECT_EQ(parse_dialect("transformers@new").error().message,
            "the version of a dialect must be two numbers, such as 4.51, got 'new'");
  EXPECT_EQ(parse_dialect("transformers@6.0").error().message,
            "the version of transformers must be from 4.33 to 5.24, got 6.0");
  EXPECT_EQ(parse_dialect("transformers@4.99").error().message,
            "the version of transformers must be a release, got 4.99; the last before 5.0 is 4.57");
  EXPECT_EQ(parse_dialect("mlx@0.31").error().message,
            "the version of mlx must be from 0.32 to 0.32, got 0.31");
  EXPECT_EQ(parse_dialect("llama.cpp@1.0").error().message,
            "a dialect must be llama.cpp without a version, of which only llama.cpp 0c1e5709, in "
            "llama_cpp_python 0.3.36 is known; got 1.0");
}

TEST(Dialect, EachRuleHasANameASentenceAndASource) {
  for (const Engine engine : all_engines) {
    std::set<std::string_view> names;
    for (const DialectRule& rule : rules_of(engine)) {
      SCOPED_TRACE(std::string(rule.name));
      EXPECT_TRUE(names.insert(rule.name).second);
      EXPECT_TRUE(rule.sentence.ends_with('.'));
      EXPECT_FALSE(rule.source.empty());
      EXPECT_EQ(rule.engine, engine);
      EXPECT_TRUE(rule.apply != nullptr || rule.edit != nullptr);
      EXPECT_LE(rule.first, rule.last);
    }
    EXPECT_FALSE(names.empty());
  }
}

TEST(Dialect, TheNewestTransformersReadsAsResolveDoes) {
  const DialectReading reading = reading_of(qwen3_vl, "transformers");
  EXPECT_TRUE(reading.acted.empty());
  EXPECT_FALSE(
      test::value_of(compare_models(reading.model, test::value_of(resolve(qwen3_vl)))).differs());
}

TEST(Dialect, TheSoftmaxScaleLacksYarnsFactorUntil5_13) {
  for (const std::string family : {"deepseek_v2", "mistral4"}) {
    const std::string config = R"({"model_type": ")" + family + R"(", "num_hidden_layers": 2,
        "hidden_size": 2048, "num_attention_heads": 16, "kv_lora_rank": 512, "head_dim": 64,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "max_position_embeddings": 163840, "rope_theta": 10000, "rope_scaling": {
        "rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 4096,
        "mscale": 0.707, "mscale_all_dim": 0.707}})";
    EXPECT_EQ(reading_of(config, "transformers@5.13").model.rotary.front().softmax_factor, 1);
    EXPECT_GT(reading_of(config, "transformers@5.24").model.rotary.front().softmax_factor, 1.5);
    const RotaryDifference found =
        between(config, "transformers@5.13", "transformers").rotary.front();
    EXPECT_FALSE(found.rows.first_position);
    ASSERT_EQ(found.fields.size(), 1U);
    EXPECT_EQ(found.fields.front().field, "softmax_factor");
  }
}

TEST(Dialect, DroppedDynamicScalingShowsBeyondTheTrainedContext) {
  for (const std::string_view engine : {"llama.cpp", "vllm"}) {
    const auto found = between(dynamic_config, "transformers", engine);
    EXPECT_EQ(found.context_tokens, 2048);
    EXPECT_FALSE(found.rotary.front().rows.first_position);
    const DialectReading mine = reading_of(dynamic_config, "transformers");
    const DialectReading theirs = reading_of(dynamic_config, engine);
    const auto longer = test::value_of(
        compare_models(mine.model, theirs.model,
                       {.context_tokens = 4096, .one = mine.lengths, .other = theirs.lengths}));
    // By the formula (computed in Python), rows are 1.2 apart for 2049 tokens.
    EXPECT_EQ(longer.rotary.front().rows.first_position, 2048);
  }
}

TEST(Dialect, Transformers5_12And5_13DifferOnlyAfterALongerCall) {
  const DialectReading one = reading_of(dynamic_config, "transformers@5.12");
  const DialectReading other = reading_of(dynamic_config, "transformers@5.13");
  EXPECT_EQ(names_of(one), Names{"dynamic_never_reset"});
  const auto found = test::value_of(
      compare_models(one.model, other.model,
                     {.context_tokens = 8192, .one = one.lengths, .other = other.lengths}));
  EXPECT_FALSE(found.rotary.front().rows.first_position);
  ASSERT_TRUE(found.rotary.front().after_longer_call);
  EXPECT_EQ(found.rotary.front().after_longer_call->first_position, 1);
}

TEST(Dialect, Transformers4_57AndVllmReadPartialRotaryFactor) {
  constexpr std::string_view config = R"({"model_type": "llama", "hidden_size": 128,
    "num_attention_heads": 2, "max_position_embeddings": 2048, "rope_theta": 10000.0,
    "partial_rotary_factor": 0.5})";
  const DialectReading reading = reading_of(config, "transformers@4.57");
  EXPECT_EQ(names_of(reading), Names{"partial_rotary_factor_read"});
  EXPECT_EQ(reading.model.rotary.front().spec.rotary_dim, 32);
  EXPECT_EQ(between(config, "transformers@4.57", "transformers").rotary.front().rows.first_position,
            1);
  EXPECT_EQ(names_of(reading_of(config, "vllm")), Names{"partial_rotary_factor_read"});
}

TEST(Dialect, ARefusalStatesItsReason) {
  constexpr std::string_view yarn = R"({"model_type": "llama", "hidden_size": 128,
    "num_attention_heads": 2, "max_position_embeddings": 8192, "rope_theta": 10000.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 2048}})";
  EXPECT_EQ(reading_of(yarn, "transformers@4.40").refusal,
            "rope_type yarn is unknown to the family's own class");
  EXPECT_EQ(reading_of(of_family(yarn, "qwen2"), "onnxruntime").refusal,
            "the builder takes an absent beta_fast or beta_slow for 0, and fails");
  EXPECT_EQ(reading_of(of_family(dynamic_config, "qwen2"), "onnxruntime").refusal,
            "the builder has no rope_type dynamic");
}

TEST(Dialect, Transformers4_53To4_57FailOnAScaledMistralWithoutHeadDim) {
  const std::string scaled = R"({"model_type": "mistral", "hidden_size": 256,
    "num_attention_heads": 4, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
    "original_max_position_embeddings": 512})";
  const auto refuses = [&](const std::string& more, std::string_view dialect) {
    return reading_of(scaled + more + "}", dialect).refusal.has_value();
  };
  EXPECT_TRUE(refuses("", "transformers@4.57"));
  EXPECT_TRUE(refuses(R"(, "head_dim": null)", "transformers@4.53"));
  EXPECT_FALSE(refuses(R"(, "head_dim": 64)", "transformers@4.57"));
  EXPECT_FALSE(refuses("", "transformers@4.51"));
  EXPECT_FALSE(refuses("", "transformers@5.0"));
}

TEST(Dialect, VllmReadsYarnsAttentionFactorSince0_30) {
  constexpr std::string_view config = R"({"model_type": "llama", "hidden_size": 4096,
    "num_attention_heads": 32, "max_position_embeddings": 131072, "rope_theta": 1000000.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "attention_factor": 0.9,
    "original_max_position_embeddings": 32768}})";
  EXPECT_FALSE(between(config, "transformers", "vllm").differs());
  EXPECT_FALSE(between(config, "transformers", "vllm@0.30").differs());
  EXPECT_EQ(names_of(reading_of(config, "vllm@0.29")), Names{"yarn_factor_computed"});
}

TEST(Dialect, EnginesReadLinearScalingOfSomeFamiliesOnly) {
  struct Reading {
    std::string_view family;
    std::string_view engine;
    Names rules;
  };
  constexpr std::string_view linear = R"({"model_type": "llama", "hidden_size": 128,
    "num_attention_heads": 2, "max_position_embeddings": 2048, "rope_theta": 10000.0,
    "rope_scaling": {"rope_type": "linear", "factor": 4.0}})";
  const std::vector<Reading> readings = {
      {"llama", "mlx", {}},
      {"qwen3_moe", "mlx", {"scaling_unread"}},
      {"deepseek", "mlx", {}},
      {"llama", "llama.cpp", {}},
      {"cohere", "llama.cpp", {"scaling_unwritten"}},
      {"gemma", "llama.cpp", {"scaling_unwritten"}},
      {"llama", "onnxruntime", {"scaling_unread"}},
      {"qwen2", "onnxruntime", {}},
  };
  for (const Reading& each : readings) {
    const std::string config = of_family(linear, each.family);
    EXPECT_EQ(names_of(reading_of(config, each.engine)), each.rules)
        << each.family << " " << each.engine;
  }
}

TEST(Dialect, MlxReadsRopeParametersOfQwen3ButNotOfLlama) {
  constexpr std::string_view config = R"({"model_type": "llama", "hidden_size": 128,
    "num_attention_heads": 2, "max_position_embeddings": 2048,
    "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500000.0}})";
  const auto spec_of = [&](std::string_view family) {
    return reading_of(of_family(config, family), "mlx").model.rotary.front().spec;
  };
  EXPECT_EQ(spec_of("llama").base.get(), 10000);
  EXPECT_EQ(spec_of("qwen2").base.get(), 1000000);
  EXPECT_TRUE(std::holds_alternative<NoScaling>(spec_of("llama").scaling));
  EXPECT_EQ(spec_of("qwen3").base.get(), 500000);
  EXPECT_TRUE(std::holds_alternative<LinearScaling>(spec_of("qwen3").scaling));
  EXPECT_EQ(reading_of(of_family(config, "qwen3_moe"), "mlx").refusal,
            "its class must have rope_theta, beside rope_parameters");
}

TEST(Dialect, MlxRefusesLongRopeWithoutAnOriginalLengthInTheDictionary) {
  constexpr std::string_view config = R"({"model_type": "llama", "hidden_size": 8,
    "num_attention_heads": 2, "max_position_embeddings": 128, "rope_theta": 10000.0,
    "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "original_max_position_embeddings": 64,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.0], "long_factor": [2.0, 3.0]}})";
  const auto refusal_of = [&](std::string_view family) {
    return reading_of(of_family(config, family), "mlx").refusal;
  };
  EXPECT_EQ(refusal_of("llama"),
            "its class must have original_max_position_embeddings within the dictionary");
  EXPECT_NE(refusal_of("phi3"), refusal_of("llama"));
  const DialectReading minicpm3 = reading_of(of_family(config, "minicpm3"), "mlx");
  EXPECT_EQ(
      std::get<LongRopeScaling>(minicpm3.model.rotary.front().spec.scaling).original_context_tokens,
      4096);
}

// The A of conversion/phi.py: 0.1 ln(4096 / 128) + 1. The config's factor, 8, is not read.
TEST(Dialect, LlamaCppKeepsYarnsRuleForPhi3sFactorOfLengths) {
  const DialectReading reading = reading_of(R"({"model_type": "phi3", "hidden_size": 8,
    "num_attention_heads": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
    "original_max_position_embeddings": 128, "rope_scaling": {"type": "yarn", "factor": 8.0,
    "short_factor": [1.0, 1.0], "long_factor": [2.0, 3.0]}})",
                                            "llama.cpp");
  const auto& rule = std::get<LongRopeScaling>(reading.model.rotary.front().spec.scaling);
  EXPECT_EQ(rule.factor, 32);
  EXPECT_EQ(rule.attention_factor, 0.1 * std::log(32.0) + 1);
}

// YaRN has no A for factor 1, so 1 is LongRoPE's own.
TEST(Dialect, LlamaCppComputesLongRopesFactorWhereOneIsStated) {
  const DialectReading reading = reading_of(R"({"model_type": "phi3", "hidden_size": 8,
    "num_attention_heads": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
    "original_max_position_embeddings": 128, "rope_scaling": {"type": "longrope", "factor": 1.0,
    "attention_factor": 1.0, "short_factor": [1.0, 1.0], "long_factor": [2.0, 3.0]}})",
                                            "llama.cpp");
  const auto& rule = std::get<LongRopeScaling>(reading.model.rotary.front().spec.scaling);
  EXPECT_EQ(rule.attention_factor, std::nullopt);
}

TEST(Dialect, ModelsWithoutRotationAreNotRefused) {
  constexpr std::string_view config = R"({"model_type": "gpt2", "n_embd": 128, "n_head": 2,
    "n_layer": 2, "partial_rotary_factor": 0.5})";
  EXPECT_FALSE(reading_of(config, "vllm").refusal);
}

TEST(Dialect, OnlyTheTailRuleOfLlamaCppActsOnQwen3Vl) {
  const ModelSpec model = test::value_of(resolve(qwen3_vl));
  for (const DialectRule& rule : rules_of(Engine::llama_cpp)) {
    const DialectReading reading = test::value_of(apply_rule(rule, model));
    EXPECT_EQ(!reading.acted.empty(), rule.name == "interleaved_axes_tail") << rule.name;
  }
}

// Keys of rope dictionaries that only some engines read. Expected numbers are from vLLM 0.22 to
// 0.33 and SGLang 0.5.23. The dialect rules name the source files.

using test::fails;

std::string qwen3_with(const std::string& scaling) {
  return R"({"model_type": "qwen3", "head_dim": 128, "hidden_size": 4096,
             "num_attention_heads": 32, "num_hidden_layers": 2, "rope_theta": 1000000,
             "max_position_embeddings": 131072, "rope_scaling": {)" +
         scaling + "}}";
}

const std::string yarn = R"("rope_type": "yarn", "factor": 4.0,
                            "original_max_position_embeddings": 32768)";

DialectReading reading_of(const std::string& config, std::string_view dialect) {
  return test::value_of(read_as(config, test::value_of(parse_dialect(dialect))));
}

Frequencies frequencies_of(const std::string& config, std::string_view dialect) {
  const DialectReading reading = reading_of(config, dialect);
  EXPECT_FALSE(reading.acted.empty()) << dialect;
  return test::value_of(make_frequencies(reading.model.rotary.front().spec, 131072));
}

TEST(EngineKeys, SomeEnginesMultiplyByAttnFactor) {
  const std::string config = qwen3_with(yarn + R"(, "attn_factor": 0.8782488562869419)");
  const double computed = 0.1 * std::log(4.0) + 1;
  EXPECT_EQ(frequencies_of(config, "transformers").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "transformers@4.57").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "llama.cpp").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "mlx").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "vllm").attention_factor, computed);
  EXPECT_NEAR(frequencies_of(config, "vllm@0.29").attention_factor, 1, 1e-15);
  EXPECT_NEAR(frequencies_of(config, "sglang").attention_factor, 1, 1e-15);
  EXPECT_EQ(reading_of(config, "transformers").evidence.kind, Evidence::read);
  const std::string nested = R"({"model_type": "llava", "text_config": )" + config + "}";
  EXPECT_NEAR(frequencies_of(nested, "sglang").attention_factor, 1, 1e-15);
}

TEST(EngineKeys, SomeEnginesScaleTheRampByExtrapolationFactor) {
  const auto first_and_last = [](const std::string& value, std::string_view dialect) {
    const auto all =
        frequencies_of(qwen3_with(yarn + ", \"extrapolation_factor\": " + value), dialect).inv_freq;
    return std::pair(all.front(), all.back());
  };
  const auto usual = first_and_last("1", "sglang");
  EXPECT_EQ(usual.first, 1);
  EXPECT_EQ(first_and_last("0.5", "transformers"), usual);
  EXPECT_EQ(first_and_last("0.5", "vllm@0.33"), usual);
  for (const std::string_view dialect : {"sglang", "vllm@0.25"}) {
    // The first frequency is a mixture, 1/4 + (1 - 1/4) / 2. The last one is divided by 4.
    EXPECT_EQ(first_and_last("0.5", dialect).first, 0.625);
    EXPECT_NEAR(first_and_last("0.5", dialect).second, usual.second, 1e-20);
  }
}

TEST(EngineKeys, SomeEnginesEnlargeTheBaseByAlpha) {
  const std::string config = qwen3_with(R"("type": "dynamic", "factor": 1.0, "alpha": 1000)");
  const double second = std::pow(1e6 * std::pow(1000, 128.0 / 126), -2.0 / 128);
  for (const std::string_view dialect : {"vllm", "vllm@0.22", "sglang"})
    EXPECT_NEAR(frequencies_of(config, dialect).inv_freq[1], second, 1e-15) << dialect;
  EXPECT_NEAR(frequencies_of(config, "transformers").inv_freq[1], std::pow(1e6, -2.0 / 128), 1e-15);
}

TEST(EngineKeys, MisspeltMisplacedAndMistypedKeysAreRefused) {
  for (const char* const scaling : {R"("rope_type": "yarn", "factor": 4.0, "attn_facto": 1)",
                                    R"("rope_type": "linear", "factor": 4.0, "attn_factor": 1)",
                                    R"("rope_type": "yarn", "factor": 4.0, "attn_factor": "1")"}) {
    EXPECT_TRUE(
        fails(read_as(qwen3_with(scaling), {.engine = Engine::sglang}), ErrorCode::unsupported, {}))
        << scaling;
    EXPECT_TRUE(fails(resolve(qwen3_with(scaling)), ErrorCode::unsupported, {})) << scaling;
  }
}

}  // namespace
}  // namespace rotary
