// SPDX-License-Identifier: Apache-2.0
// The source of each value of a model: the config, its class, its family or a rule.
#include <gtest/gtest.h>

#include "rotary/absolute.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::llama_with;
using test::malformed;
using test::model_with;
using test::resolved;

// The origin and key of a value, such as "stated rope_theta". "none" if it has no source.
std::string source_of(const std::vector<ValueSource>& sources, std::string_view value) {
  std::string found;
  for (const ValueSource& each : sources) {
    if (each.value != value) continue;
    if (!found.empty()) return "twice";
    found = std::string(to_string(each.origin)) + (each.key.empty() ? "" : " ") + each.key;
  }
  return found.empty() ? "none" : found;
}

struct Expected {
  std::string_view value;
  std::string_view source;
};

void expect_sources(const std::vector<ValueSource>& sources,
                    std::initializer_list<Expected> expected) {
  for (const auto& [value, source] : expected)
    EXPECT_EQ(source_of(sources, value), source) << value;
}

TEST(Sources, NameTheKeysOfALlama) {
  const ModelSpec model = resolved(llama_with(R"("rope_theta": 5e5)"));
  expect_sources(model.rotary.front().sources,
                 {{"base", "stated rope_theta"},
                  {"head_dim", "rule hidden_size / num_attention_heads"},
                  {"rotary_dim", "family"},
                  {"pairing", "family"},
                  {"sense", "family"},
                  {"rounding", "family"},
                  {"rope_type", "class_default rope_type"},
                  {"nope_head_dim", "none"},
                  {"trained_context_tokens", "stated max_position_embeddings"}});
  expect_sources(model.sources, {{"model_type", "stated model_type"},
                                 {"layers", "stated num_hidden_layers"},
                                 {"encoding", "family"},
                                 {"layer_types", "none"},
                                 {"query_temperature", "none"}});
  EXPECT_EQ(model.config_part, "");
  EXPECT_EQ(source_of(resolved(llama_with("")).rotary.front().sources, "base"),
            "class_default rope_theta");
}

TEST(Sources, NameTheKeysOfAScalingRule) {
  const std::string yarn = R"("rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 0})";
  expect_sources(resolved(llama_with(yarn)).rotary.front().sources,
                 {{"rope_type", "stated rope_type"},
                  {"factor", "stated factor"},
                  {"original_max_position_embeddings", "rule max_position_embeddings"},
                  {"beta_fast", "rule"},
                  {"beta_slow", "rule"},
                  {"ramp", "rule"},
                  {"mscale", "none"}});
  expect_sources(resolved(llama_with(R"("rope_scaling": {"type": "dynamic", "factor": 2})"))
                     .rotary.front()
                     .sources,
                 {{"original_max_position_embeddings", "rule max_position_embeddings"}});
  // The class of gpt_oss has default rope_parameters.
  expect_sources(resolved(model_with("gpt_oss")).rotary.front().sources,
                 {{"rope_type", "class_default rope_type"},
                  {"factor", "class_default factor"},
                  {"base", "class_default rope_theta"}});
}

TEST(Sources, NameTheKeyThatDecidesAValue) {
  expect_sources(
      resolved(model_with("deepseek_v3", R"("rope_interleave": false, "qk_rope_head_dim": 64)"))
          .rotary.front()
          .sources,
      {{"pairing", "stated rope_interleave"},
       {"head_dim", "stated qk_rope_head_dim"},
       {"nope_head_dim", "class_default qk_nope_head_dim"}});
  expect_sources(resolved(model_with("glm4_moe")).rotary.front().sources,
                 {{"rotary_dim", "class_default partial_rotary_factor"}});
  expect_sources(
      resolved(model_with("glm4_moe", R"("partial_rotary_factor": 0.25)")).rotary.front().sources,
      {{"rotary_dim", "stated partial_rotary_factor"}});
  expect_sources(resolved(model_with("falcon")).sources, {{"encoding", "class_default alibi"}});
  expect_sources(resolved(model_with("novel", R"("rope_theta": 1e4)"), {.pairing = Pairing::half})
                     .rotary.front()
                     .sources,
                 {{"pairing", "asked"}});
  expect_sources(resolved(model_with("llama4_text", R"("no_rope_layers": [1, 0, 1, 1])")).sources,
                 {{"layer_types", "stated no_rope_layers"},
                  {"query_temperature", "class_default attn_scale"}});
}

// google/gemma-3-4b-it: its text_config leaves out the defaults of Gemma3TextConfig.
TEST(Sources, NameTheClassForKeysMissingInGemma3) {
  const ModelSpec model = resolved(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
          "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}})");
  EXPECT_EQ(model.config_part, "text_config");
  ASSERT_EQ(model.rotary.size(), 2U);
  for (const ModelRotary& rotary : model.rotary) {
    EXPECT_EQ(rotary.trained_context_tokens, 131072);
    const bool is_full = rotary.layer_type == "full_attention";
    expect_sources(
        rotary.sources,
        {{"trained_context_tokens", "class_default max_position_embeddings"},
         {"head_dim", "class_default head_dim"},
         {"base", is_full ? "class_default rope_theta" : "class_default rope_local_base_freq"},
         {"rope_type", is_full ? "stated rope_type" : "class_default rope_type"}});
  }
  EXPECT_EQ(source_of(model.sources, "layer_types"), "class_default layer_types");
}

TEST(Sources, ContextsComeFromGemmasClassesUnlessStated) {
  const auto context_of = [](std::string_view members) {
    const std::string config = "{" + std::string(members) + R"(, "num_hidden_layers": 6})";
    return resolved(config).rotary.front().trained_context_tokens;
  };
  EXPECT_EQ(context_of(R"("model_type": "gemma3n_text")"), 32768);
  EXPECT_EQ(context_of(R"("model_type": "gemma4_text")"), 131072);
  EXPECT_EQ(context_of(R"("model_type": "gemma4_unified_text")"), 262144);
  EXPECT_EQ(context_of(R"("model_type": "gemma3_text", "max_position_embeddings": 32768)"), 32768);
}

TEST(Sources, NameThePartOfAConfig) {
  const ModelSpec model =
      resolved(R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": )"
               R"({"hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 2}}})");
  EXPECT_EQ(model.config_part, "thinker_config.text_config");
  EXPECT_EQ(model.model_type, "qwen2_5_omni_text");
  EXPECT_EQ(source_of(model.sources, "model_type"), "family model_type");
}

TEST(Sources, NameTheKeysOfWhispersEncoder) {
  const ModelSpec model = resolved(
      R"({"model_type": "whisper", "d_model": 384, "encoder_layers": 4, "decoder_layers": 2})");
  EXPECT_EQ(model.layers.size(), 2U);
  ASSERT_TRUE(model.encoder);
  EXPECT_EQ(model.encoder->encoding, LayerEncoding::sinusoidal);
  EXPECT_EQ(model.encoder->layers, 4);
  EXPECT_EQ(model.encoder->positions, 1500);
  const SinusoidalSpec whisper = whisper_sinusoidal(384);
  EXPECT_EQ(model.encoder->sinusoidal.dim, whisper.dim);
  EXPECT_EQ(model.encoder->sinusoidal.layout.get(), whisper.layout.get());
  EXPECT_EQ(model.encoder->sinusoidal.spacing.get(), whisper.spacing.get());
  expect_sources(model.encoder->sources, {{"dim", "stated d_model"},
                                          {"layers", "stated encoder_layers"},
                                          {"positions", "class_default max_source_positions"},
                                          {"sinusoidal", "family"}});
  EXPECT_FALSE(resolved(R"({"model_type": "bart", "encoder_layers": 2})").encoder);
  const ModelSpec without = resolved(R"({"model_type": "whisper", "decoder_layers": 2})");
  EXPECT_FALSE(without.encoder);
  EXPECT_EQ(without.warnings.size(), 1U);
  malformed(R"({"model_type": "whisper", "d_model": 384, "encoder_layers": 0,)"
            R"( "decoder_layers": 2})",
            {"encoder_layers must be in 1.."});
  malformed(R"({"model_type": "whisper", "d_model": 0, "encoder_layers": 1,)"
            R"( "decoder_layers": 2})",
            {"d_model", "dim must be"});
}

TEST(Sources, NameTheKeysOfAParamsJson) {
  const ModelSpec model = resolved(
      R"({"dim": 4096, "n_layers": 2, "n_heads": 32, "multiple_of": 1024, "rope_theta": 5e5,
          "use_scaled_rope": true})");
  expect_sources(model.rotary.front().sources, {{"base", "stated rope_theta"},
                                                {"head_dim", "rule dim / n_heads"},
                                                {"pairing", "family"},
                                                {"rope_type", "stated use_scaled_rope"},
                                                {"factor", "class_default rope_scaling_factor"},
                                                {"low_freq_factor", "family"}});
}

}  // namespace
}  // namespace rotary
