// SPDX-License-Identifier: Apache-2.0
// Configs that could silently resolve wrongly: each is read right, refused or warned about.
#include <gtest/gtest.h>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::llama_with;
using test::malformed;
using test::model_with;
using test::not_supported;
using test::resolved;
using test::resolved_rotary;
using test::rotary_for;
using test::warns;

// DeepSeek-V3's sizes under a name that nobody knows: hidden / heads would be 56, and 64 turn.
TEST(Silence, LatentAttentionOfAnUnknownFamily) {
  const auto model = resolve(R"({"model_type": "new", "hidden_size": 7168,
      "num_attention_heads": 128, "qk_rope_head_dim": 64, "rope_theta": 10000})",
                             {.pairing = Pairing::interleaved});
  EXPECT_TRUE(test::fails(model, ErrorCode::unsupported, {"qk_rope_head_dim"}));
}

// laguna: the class never brings the key beside the dictionaries into them.
TEST(Silence, AFractionBesideDictionariesThatHaveTheirOwn) {
  const ModelSpec model = resolved(R"({"model_type": "laguna", "head_dim": 128,
      "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
      "partial_rotary_factor": 0.5, "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 5e5,
                           "partial_rotary_factor": 0.5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4,
                              "partial_rotary_factor": 1.0}}})");
  EXPECT_EQ(rotary_for(model, "full_attention").spec.rotary_dim, 64);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.rotary_dim.value_or(128), 128);
  EXPECT_TRUE(warns(model, "partial_rotary_factor 0.5 is ignored for layers with 1"));
}

// step3p5: scaling belongs to full layers, whether rope_theta is a list or one number.
TEST(Silence, ScalingOfStepsFullLayers) {
  const ModelSpec model = resolved(R"({"model_type": "step3p5", "head_dim": 128,
      "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
      "rope_theta": 10000, "max_position_embeddings": 262144, "rope_scaling": {
        "rope_type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 32,
        "original_max_position_embeddings": 131072}})");
  EXPECT_EQ(rope_type(rotary_for(model, "full_attention").spec.scaling), "llama3");
  EXPECT_EQ(rope_type(rotary_for(model, "sliding_attention").spec.scaling), "default");
}

TEST(Silence, OneDictionaryWhereTheClassHasOneForEachLayerType) {
  const ModelSpec model =
      resolved(model_with("laguna", R"("rope_parameters": {"rope_type": "default"})"));
  EXPECT_TRUE(warns(model, "holds for all layers"));
}

// The first ChatGLM, of the model_type of the second, turns by two positions.
TEST(Silence, TwoAxesOfTheFirstChatglm) {
  EXPECT_TRUE(not_supported(model_with("chatglm", R"("position_encoding_2d": true)"),
                            {"position_encoding_2d must be false"}));
}

TEST(Silence, FractionsOfFamiliesThatTurnAPart) {
  EXPECT_EQ(resolved_rotary(model_with("gpt_neox_japanese", R"("rotary_pct": 0.5)")).rotary_dim,
            32);
  EXPECT_EQ(resolved_rotary(model_with("nomic_bert", R"("rotary_emb_fraction": 0.5)")).rotary_dim,
            32);
  EXPECT_TRUE(malformed(model_with("nomic_bert", R"("rotary_emb_fraction": 0.0)"), {"(0, 1]"}));
}

// Its base would have to grow with the context.
TEST(Silence, DynamicNtkOfQwen1BeyondItsContext) {
  const std::string config =
      model_with("qwen", R"("use_dynamic_ntk": true, "seq_length": 2048, "kv_channels": 64)");
  EXPECT_TRUE(resolve(config, {.context_tokens = 2048}));
  EXPECT_TRUE(test::fails(resolve(config, {.context_tokens = 2049}), ErrorCode::unsupported,
                          {"use_dynamic_ntk", "2048", "got 2049"}));
}

TEST(Silence, NamesOfAnEncodingThatAreNone) {
  EXPECT_TRUE(not_supported(model_with("granitemoehybrid", R"("position_embedding_type": "ROPE")"),
                            {"must be rope or nope", "ROPE"}));
  EXPECT_TRUE(not_supported(model_with("mpt", R"("n_layers": 1, "attn_config": {"rope": true})"),
                            {"attn_config.rope must be false"}));
}

TEST(Silence, TwoOriginalContexts) {
  const ModelSpec model = resolved(llama_with(
      R"("original_max_position_embeddings": 1024, "rope_scaling": {"rope_type": "yarn",
         "factor": 4, "original_max_position_embeddings": 2048})"));
  EXPECT_TRUE(warns(model, "original_max_position_embeddings is given twice, 1024"));
}

// If layers cannot be listed, a warning says what the family is known for.
TEST(Silence, LayersThatCannotBeListed) {
  const ModelSpec model =
      resolved(R"({"model_type": "smollm3", "head_dim": 64, "rope_theta": 10000})");
  EXPECT_TRUE(model.layers.empty());
  EXPECT_TRUE(warns(model, "of this family: "));
}

}  // namespace
}  // namespace rotary
