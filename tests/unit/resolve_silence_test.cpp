// SPDX-License-Identifier: Apache-2.0
// Configs that invite a silent mistake: each is read right, refused or warned about.
#include <gtest/gtest.h>

#include "support/refusals.hpp"
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

// DeepSeek-V3's sizes under an unknown name: hidden / heads is 56, but 64 features rotate.
TEST(SilentMistakes, LatentAttentionOfAnUnknownFamilyIsRefused) {
  const auto model = resolve(R"({"model_type": "new", "hidden_size": 7168,
      "num_attention_heads": 128, "qk_rope_head_dim": 64, "rope_theta": 10000})",
                             {.pairing = Pairing::interleaved});
  test::refused(model, {"qk_rope_head_dim"}, ErrorCode::unsupported);
}

// Laguna's class does not copy an outer partial_rotary_factor into the dictionaries.
TEST(SilentMistakes, TheDictionarysFractionReplacesTheOuterOneWithAWarning) {
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

// Step-3.5 scales only full layers, whether rope_theta is a list or one number.
TEST(SilentMistakes, Step3p5ScalesOnlyFullLayers) {
  const ModelSpec model = resolved(R"({"model_type": "step3p5", "head_dim": 128,
      "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
      "rope_theta": 10000, "max_position_embeddings": 262144, "rope_scaling": {
        "rope_type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 32,
        "original_max_position_embeddings": 131072}})");
  EXPECT_EQ(rope_type(rotary_for(model, "full_attention").spec.scaling), "llama3");
  EXPECT_EQ(rope_type(rotary_for(model, "sliding_attention").spec.scaling), "default");
}

TEST(SilentMistakes, LagunaRefusesAFlatDictionaryAndGemma3IgnoresIt) {
  malformed(model_with("laguna", R"("rope_parameters": {"rope_type": "default"})"),
            {"rope_parameters must have a dictionary for each layer type"});
  const ModelSpec gemma = resolved(model_with("gemma3_text", R"("rope_theta": 700000,
      "rope_parameters": {"rope_type": "linear", "factor": 8, "rope_theta": 300000})"));
  EXPECT_EQ(rotary_for(gemma, "full_attention").spec.base.get(), 700000);
  EXPECT_TRUE(warns(gemma, "rope_parameters is ignored"));
  EXPECT_FALSE(warns(gemma, "700000"));
}

// The first ChatGLM has the model_type of the second, but rotates by two positions.
TEST(SilentMistakes, TheFirstChatglmsTwoAxesAreRefused) {
  not_supported(model_with("chatglm", R"("position_encoding_2d": true)"),
                {"position_encoding_2d must be false"});
}

TEST(SilentMistakes, UnknownEncodingNamesAreRefused) {
  not_supported(model_with("granitemoehybrid", R"("position_embedding_type": "ROPE")"),
                {"must be rope or nope", "ROPE"});
  not_supported(model_with("mpt", R"("n_layers": 1, "attn_config": {"rope": true})"),
                {"attn_config.rope must be false"});
}

// A layer of an unknown type may have no attention, or another rotation.
TEST(SilentMistakes, UnknownLayerTypesAreRefused) {
  not_supported(llama_with(R"("layer_types": ["full_attention", "full_atention"])"),
                {"layer_types must hold names of known layer types", "chunked_attention",
                 "got \"full_atention\"", "did you mean full_attention?"});
  not_supported(model_with("zamba2", R"("layers_block_type": ["mamba", "x", "hybrid",
                                                 "mamba"])"),
                {"layers_block_type", "got \"x\""});
  // Unknown types are accepted if rope_parameters has a dictionary for each.
  EXPECT_TRUE(resolve(llama_with(R"("layer_types": ["x", "y"], "rope_parameters": {
      "x": {"rope_theta": 10000}, "y": {"rope_theta": 500000}})")));
  // All names that config classes of Transformers 5.23 allow are accepted, and older names.
  for (const std::string_view name : {"full_attention",
                                      "sliding_attention",
                                      "chunked_attention",
                                      "window_attention",
                                      "indexed_attention",
                                      "compressed_sparse_attention",
                                      "heavily_compressed_attention",
                                      "minimax_m3_sparse",
                                      "conv",
                                      "moe",
                                      "hybrid",
                                      "hybrid_sliding",
                                      "reference_sliding_attention",
                                      "linear_attention",
                                      "mamba",
                                      "attention",
                                      "deepseek_sparse_attention",
                                      "qwen_sparse_attention",
                                      "recurrent",
                                      "mlp"}) {
    const std::string types = "[" + test::json_text(name) + ", " + test::json_text(name) + "]";
    EXPECT_TRUE(resolve(llama_with(test::member("layer_types", types)))) << name;
  }
}

TEST(SilentMistakes, NestedBasesReplaceTheOuterOneWithAWarning) {
  const std::string nested = R"("layer_types": ["full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_theta": 500000},
                          "sliding_attention": {"rope_theta": 10000}})";
  const auto of_two_layers = [&](const std::string& other) {
    return resolved(R"({"model_type": "lfm3", "num_hidden_layers": 2, )" + nested + other + "}");
  };
  EXPECT_TRUE(warns(of_two_layers(R"(, "rope_theta": 7e6)"), "rope_theta 7e+06 is ignored"));
  EXPECT_TRUE(of_two_layers(R"(, "rope_theta": 500000)").warnings.empty());
  EXPECT_TRUE(of_two_layers("").warnings.empty());
  EXPECT_TRUE(warns(resolved(llama_with(nested)), "the class of llama has one for all layers"));
  const ModelSpec gemma = resolved(R"({"model_type": "gemma3_text", "num_hidden_layers": 6,
      "rope_theta": 5, "rope_local_base_freq": 7, "rope_parameters": {
        "full_attention": {"rope_theta": 500000}, "sliding_attention": {"rope_theta": 7}}})");
  EXPECT_TRUE(warns(gemma, "rope_theta 5 is ignored"));
  EXPECT_FALSE(warns(gemma, "rope_local_base_freq"));
}

TEST(SilentMistakes, WrongPositionEmbeddingTypesAreRefusedExceptAbsolute) {
  for (const std::string_view name : {"relative_key", "alibi", "learned"}) {
    not_supported(
        llama_with(test::member("position_embedding_type", test::json_text(name))),
        {"position_embedding_type must be rope", "llama does not read it", std::string(name)});
  }
  EXPECT_TRUE(warns(resolved(llama_with(R"("position_embedding_type": "absolute")")),
                    "position_embedding_type absolute is ignored"));
  EXPECT_TRUE(resolved(llama_with(R"("position_embedding_type": "rope")")).warnings.empty());
  not_supported(model_with("gpt2", R"("n_layer": 2,
                                       "position_embedding_type": "rotary")"),
                {"must be absolute", "gpt2"});
}

// Servers of Qwen2.5-1M change positions, but Transformers does not.
TEST(SilentMistakes, DualChunkAttentionIsReadWithAWarning) {
  const auto with = [](std::string_view members) {
    return model_with("qwen2", R"("dual_chunk_attention_config": {)" + std::string(members) + "}");
  };
  const ModelSpec model = resolved(with(R"("chunk_size": 262144, "local_size": 8192,
      "original_max_position_embeddings": 262144)"));
  EXPECT_EQ(model.dual_chunk, (DualChunk{.chunk = 262144, .local = 8192}));
  EXPECT_TRUE(warns(model, "changes relative positions beyond 262144 tokens"));
  EXPECT_TRUE(warns(model, "0.1 ln(n / 262144) + 1"));
  EXPECT_FALSE(resolved(model_with("qwen2")).dual_chunk);
  malformed(with(R"("chunk_size": 4)"), {"local_size must be given"});
  malformed(with(R"("chunk_size": 4, "local_size": 4)"), {"must be > local_size"});
  not_supported(with(R"("chunk_size": 4, "local_size": 1, "chunk_sise": 1)"),
                {"dual_chunk_attention_config.chunk_sise", "did you mean chunk_size?"});
}

// The meaning of each key here depends on the family.
TEST(SilentMistakes, UnclearKeysOfAnUnknownFamilyAreRefused) {
  const auto with = [](std::string_view members) {
    return resolve(model_with("new", R"("rope_theta": 10000, )" + std::string(members)),
                   {.pairing = Pairing::half});
  };
  for (const std::string_view key :
       {"n_positions", "alibi_bias_max", "learned_pos_emb", "max_relative_positions", "n_head",
        "global_head_dim", "global_attn_every_n_layers", "sliding_window_pattern", "num_layers",
        "qk_nope_head_dim"}) {
    EXPECT_TRUE(test::fails(with(test::member(key, "7")), ErrorCode::unsupported,
                            {key, "may change positions, heads or layers; got 7"}))
        << key;
  }
  for (const std::string_view key :
       {"num_key_value_heads", "v_head_dim", "layer_norm_eps", "moe_layer_freq", "vocab_size",
        "max_window_layers", "lm_head_bias", "position_ids", "num_nextn_predict_layers",
        "intermediate_size", "sliding_window", "num_experts"}) {
    EXPECT_TRUE(with(test::member(key, "7"))) << key;
  }
  EXPECT_TRUE(with(R"("alibi": false, "pruned_heads": {}, "pos_emb": null)"));
  test::refused(with(R"("num_attention_head": 7)"), {"did you mean num_attention_heads?"},
                ErrorCode::unsupported);
}

// In Transformers 5.0 to 5.24 the class's default counts as a key outside the dictionary, and
// replaces the key inside.
TEST(SilentMistakes, Phi3sClassContextReplacesTheDictionarysWithAWarning) {
  const ModelSpec model = resolved(R"({"model_type": "phi3", "hidden_size": 8,
    "num_attention_heads": 2, "max_position_embeddings": 8192, "rope_scaling": {
    "type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4],
    "original_max_position_embeddings": 64}})");
  const auto& rule = std::get<LongRopeScaling>(model.rotary.front().spec.scaling);
  EXPECT_EQ(rule.original_context_tokens, 4096);
  EXPECT_TRUE(warns(model, "is 64 among the rope parameters and 4096 in the config or its class"));
}

// If layers cannot be listed, a warning describes the family's layers.
TEST(SilentMistakes, UnlistedLayersGiveAWarning) {
  const ModelSpec model =
      resolved(R"({"model_type": "smollm3", "head_dim": 64, "rope_theta": 10000})");
  EXPECT_TRUE(model.layers.empty());
  EXPECT_TRUE(warns(model, "of this family: "));
}

}  // namespace
}  // namespace rotary
