// SPDX-License-Identifier: Apache-2.0
// The assumptions of each family: pairing, base, rotated part of the head, names of its keys.
#include <gtest/gtest.h>

#include "support/refusals.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::llama_with;
using test::resolved;
using test::resolved_rotary;
using test::warns;

constexpr std::string_view gptj =
    R"({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048})";
constexpr std::string_view gpt_neox =
    R"({"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64,
        "num_hidden_layers": 44, "max_position_embeddings": 2048})";

TEST(ResolveFamilies, LlamaMistralAndQwen2RotateTheFullHeadInHalves) {
  for (const std::string_view family : {"llama", "mistral", "qwen2"}) {
    SCOPED_TRACE(family);
    std::string config = llama_with("");
    config.replace(config.find("llama"), 5, family);
    const ModelSpec model = resolved(config);
    EXPECT_EQ(model.model_type, family);
    ASSERT_EQ(model.rotary.size(), 1U);
    const ModelRotary& rotary = model.rotary.front();
    EXPECT_FALSE(rotary.layer_type.has_value());
    EXPECT_EQ(rotary.spec.head_dim, 64);
    EXPECT_EQ(rotary.spec.rotary_dim.value_or(64), 64);
    EXPECT_EQ(rotary.spec.first_feature, 0);
    EXPECT_EQ(rotary.spec.base.get(), 10000);
    EXPECT_EQ(rotary.spec.pairing.get(), Pairing::half);
    EXPECT_EQ(rotary.spec.scaling, Scaling(NoScaling{}));
    EXPECT_EQ(rotary.softmax_factor, 1);
    EXPECT_EQ(rotary.trained_context_tokens, 4096);
    EXPECT_EQ(test::layers_of(model), "R0 R0");
    EXPECT_TRUE(model.warnings.empty());
  }
}

TEST(ResolveFamilies, GptNeoxRotatesAQuarterOfTheHeadByDefault) {
  const RotarySpec spec = resolved_rotary(gpt_neox);
  EXPECT_EQ(spec.head_dim, 96);
  EXPECT_EQ(spec.rotary_dim, 24);
  EXPECT_EQ(spec.base.get(), 10000);
  EXPECT_EQ(spec.pairing.get(), Pairing::half);

  std::string config(gpt_neox);
  config.replace(config.size() - 1, 1, R"(, "rotary_pct": 1.0, "rotary_emb_base": 25000})");
  EXPECT_EQ(resolved_rotary(config).rotary_dim.value_or(96), 96);
  EXPECT_EQ(resolved_rotary(config).base.get(), 25000);
}

// Transformers 5 writes the fraction and the base into rope_parameters.
TEST(ResolveFamilies, GptNeoxReadsRopeParametersFirst) {
  std::string config(gpt_neox);
  config.replace(config.size() - 1, 1,
                 R"(, "rope_parameters": {"rope_theta": 10000, "partial_rotary_factor": 0.5,
                    "rope_type": "default"}})");
  EXPECT_EQ(resolved_rotary(config).rotary_dim, 48);
  config.replace(config.size() - 1, 1, R"(, "rotary_pct": 0.25})");
  EXPECT_EQ(resolved_rotary(config).rotary_dim, 48);  // rotary_pct does not replace the fraction
}

TEST(ResolveFamilies, GptjReadsItsOwnKeysAndPairsNeighbours) {
  const ModelSpec model = resolved(gptj);
  const ModelRotary& rotary = model.rotary.front();
  EXPECT_EQ(rotary.spec.head_dim, 256);
  EXPECT_EQ(rotary.spec.rotary_dim, 64);
  EXPECT_EQ(rotary.spec.base.get(), 10000);
  EXPECT_EQ(rotary.spec.pairing.get(), Pairing::interleaved);
  EXPECT_EQ(rotary.trained_context_tokens, 2048);
  EXPECT_EQ(model.layers.size(), 28U);

  std::string config(gptj);
  config.replace(config.size() - 1, 1, R"(, "rotary_dim": 32})");
  EXPECT_EQ(resolved_rotary(config).rotary_dim, 32);
}

TEST(ResolveFamilies, AStatedHeadDimReplacesHiddenSizePerHead) {
  EXPECT_EQ(resolved_rotary(llama_with(R"("head_dim": 96)")).head_dim, 96);
  EXPECT_EQ(resolved_rotary(llama_with(R"("head_dim": null)")).head_dim, 64);
  EXPECT_EQ(resolved_rotary(R"({"model_type": "llama", "head_dim": 80})").head_dim, 80);
}

TEST(ResolveFamilies, AnUnknownFamilyNeedsAPairing) {
  const std::string_view config =
      R"({"model_type": "frontier", "head_dim": 64, "rope_theta": 20000, "num_hidden_layers": 3})";
  test::not_supported(config,
                      {"model_type", "rotary models families", "got 'frontier'.", "--pairing"});
  test::not_supported(R"({"model_type": "gemma3_txt", "head_dim": 64})",
                      {"got 'gemma3_txt'; did you mean gemma3_text?"});
  test::not_supported(R"({"head_dim": 64, "rope_theta": 20000})",
                      {"model_type", "got none", "--pairing"});
  const ModelSpec model = resolved(config, {.pairing = Pairing::interleaved});
  EXPECT_FALSE(warns(model, "as asked"));  // nothing was overridden
  EXPECT_EQ(model.model_type, "frontier");
  EXPECT_EQ(model.rotary.front().spec.pairing.get(), Pairing::interleaved);
  EXPECT_EQ(model.rotary.front().spec.base.get(), 20000);
  EXPECT_EQ(model.layers.size(), 3U);
}

// The base of an unknown family is never guessed.
TEST(ResolveFamilies, AnUnknownFamilyNeedsABase) {
  test::refused(resolve(R"({"head_dim": 64})", {.pairing = Pairing::half}),
                {"rope_theta", "must be given", "got none"}, ErrorCode::malformed_input);
}

TEST(ResolveFamilies, APairingOverridesAKnownFamilysWithAWarning) {
  const ModelSpec model = resolved(llama_with(""), {.pairing = Pairing::interleaved});
  EXPECT_EQ(model.rotary.front().spec.pairing.get(), Pairing::interleaved);
  EXPECT_TRUE(warns(model, "pairing"));
  EXPECT_TRUE(resolved(llama_with(""), {.pairing = Pairing::half}).warnings.empty());
}

TEST(ResolveFamilies, WarnsBeyondTheTrainedContext) {
  EXPECT_TRUE(warns(resolved(llama_with(""), {.context_tokens = 4097}), "4097"));
  EXPECT_TRUE(resolved(llama_with(""), {.context_tokens = 4096}).warnings.empty());
  for (const std::int64_t tokens : {0, -1}) {
    test::refused(resolve(llama_with(""), {.context_tokens = tokens}),
                  {"context_tokens", "got " + std::to_string(tokens)});
  }
}

TEST(ResolveFamilies, UnrelatedKeysGiveNoWarning) {
  const ModelSpec model = resolved(llama_with(
      R"("vocab_size": 32000, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-05,
         "hidden_act": "silu", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": false,
         "quantization_config": {"bits": 4}, "sliding_window": null)"));
  EXPECT_FALSE(warns(model, "vocab_size"));
}

}  // namespace
}  // namespace rotary
