// SPDX-License-Identifier: Apache-2.0
// Models whose layers differ in rotation, base, attention or query temperature.
#include <gtest/gtest.h>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::layers_of;
using test::malformed;
using test::model_with;
using test::not_supported;
using test::resolved;
using test::rotary_for;
using test::warns;

TEST(LayerKinds, OnlySlidingLayersOfCohere2ExaoneAndAfmoeRotate) {
  for (const std::string_view family : {"cohere2", "exaone4", "exaone_moe", "afmoe"}) {
    SCOPED_TRACE(family);
    EXPECT_EQ(layers_of(resolved(model_with(family))), "R0 R0 R0 N");
    EXPECT_EQ(layers_of(resolved(
                  model_with(family, R"("layer_types": ["full_attention", "sliding_attention",
                                             "sliding_attention", "full_attention"])"))),
              "N R0 R0 N");
  }
  EXPECT_EQ(layers_of(resolved(model_with("cohere2", R"("sliding_window_pattern": 2)"))),
            "R0 N R0 N");
}

TEST(LayerKinds, Exaone4WithoutAWindowRotatesEverywhere) {
  EXPECT_EQ(layers_of(resolved(model_with("exaone4", R"("sliding_window": null)"))), "R0 R0 R0 R0");
  EXPECT_EQ(layers_of(resolved(model_with(
                "exaone4", R"("sliding_window": 4096, "sliding_window_pattern": "LG")"))),
            "R0 N R0 N");
  not_supported(model_with("exaone4", R"("sliding_window_pattern": "GL")"),
                {"sliding_window_pattern", "LLLG"});
}

TEST(LayerKinds, ListsThatDoNotFitAreRefused) {
  malformed(model_with("smollm3", R"("no_rope_layers": [1, 0])"),
            {"no_rope_layers", "each layer, 4", "got 2"});
  malformed(model_with("smollm3", R"("no_rope_layers": [1, 0, 2, 1])"),
            {"no_rope_layers", "0 and 1", "got 2"});
  malformed(model_with("smollm3", R"("no_rope_layer_interval": 0)"),
            {"no_rope_layer_interval", "got 0"});
  malformed(model_with("granite_swa", R"("layer_rope_theta": [1e4, 0])"),
            {"layer_rope_theta", "each layer, 4", "got 2"});
  malformed(model_with("cohere2", R"("sliding_window_pattern": 0)"),
            {"sliding_window_pattern", ">= 1", "got 0"});
}

TEST(LayerKinds, GraniteSwaHasABaseForEachLayer) {
  const ModelSpec model = resolved(model_with(
      "granite_swa", R"("rope_theta": 5000, "layer_rope_theta": [10000, 0, 1000000, 10000.0])"));
  EXPECT_EQ(layers_of(model), "R0 N R1 R0");
  EXPECT_EQ(model.rotary[0].spec.base.get(), 10000);
  EXPECT_EQ(model.rotary[1].spec.base.get(), 1000000);
  EXPECT_EQ(model.rotary[1].layer_type, "rope_theta 1e+06");

  const ModelSpec one =
      resolved(model_with("granitemoe_swa", R"("layer_rope_theta": [7, 0, 7, 0])"));
  EXPECT_EQ(layers_of(one), "R0 N R0 N");
  EXPECT_FALSE(one.rotary.front().layer_type.has_value());
  EXPECT_EQ(one.rotary.front().spec.base.get(), 7);
  EXPECT_EQ(layers_of(resolved(model_with("granite_swa"))), "R0 R0 R0 R0");
}

TEST(LayerKinds, Gemma3HasTwoBasesAndScalesFullLayers) {
  const ModelSpec model =
      resolved(model_with("gemma3_text", R"("sliding_window_pattern": 2, "rope_theta": 1000000.0,
          "rope_local_base_freq": 20000, "rope_scaling": {"rope_type": "linear", "factor": 8.0})"));
  const ModelRotary& full = rotary_for(model, "full_attention");
  const ModelRotary& sliding = rotary_for(model, "sliding_attention");
  EXPECT_EQ(full.spec.base.get(), 1e6);
  EXPECT_EQ(full.spec.scaling, Scaling(LinearScaling{.factor = 8}));
  EXPECT_EQ(sliding.spec.base.get(), 20000);
  EXPECT_EQ(sliding.spec.scaling, Scaling(NoScaling{}));
  EXPECT_EQ(model.rotary[model.layers[0].rotary].layer_type, "sliding_attention");
  EXPECT_EQ(model.rotary[model.layers[1].rotary].layer_type, "full_attention");
  EXPECT_TRUE(model.warnings.empty());

  const ModelSpec plain = resolved(model_with("gemma3_text"));
  EXPECT_EQ(plain.layers[3].rotary, plain.layers[0].rotary);  // only every sixth layer is full
}

TEST(LayerKinds, Gemma3ReadsNestedBases) {
  const ModelSpec model = resolved(model_with("gemma3_text", R"("rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 3000000},
      "sliding_attention": {"rope_type": "default", "rope_theta": 30000}})"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.base.get(), 3e6);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.base.get(), 30000);
}

TEST(LayerKinds, Gemma3HasTwoLayerTypesAndRefusesAThird) {
  const ModelSpec model = resolved(model_with("gemma3_text", R"("rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8}, "sliding_attention": null})"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.base.get(), 1e6);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.base.get(), 10000);
  malformed(model_with("gemma3_text", R"("rope_parameters": {
                            "full_attention": {}, "global_attention": {"rope_theta": 5}})"),
            {"rope_parameters.global_attention", "layer_types"});
}

TEST(LayerKinds, ModernbertHasTwoBases) {
  const ModelSpec model = resolved(
      model_with("modernbert", R"("global_rope_theta": 170000.0, "local_rope_theta": 20000.0)"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.base.get(), 170000);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.base.get(), 20000);
  EXPECT_EQ(model.layers[0].rotary, model.layers[3].rotary);  // full: every third, from the first
  EXPECT_NE(model.layers[0].rotary, model.layers[1].rotary);
}

TEST(LayerKinds, MimoRotatesAThirdOfTheHeadAndReadsTheSlidingBase) {
  const ModelSpec model = resolved(
      R"({"model_type": "mimo_v2_flash", "head_dim": 192, "num_hidden_layers": 7,
          "rope_theta": 5000000, "swa_rope_theta": 10000, "partial_rotary_factor": 0.334,
          "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0, 1]})");
  EXPECT_EQ(rotary_for(model, "full_attention").spec.base.get(), 5e6);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.base.get(), 10000);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.rotary_dim, 64);
  EXPECT_EQ(layers_of(model), "R0 R1 R1 R1 R1 R0 R1");
}

TEST(LayerKinds, LagunaRotatesFewerFeaturesInFullLayers) {
  const ModelSpec model = resolved(model_with(
      "laguna", R"("layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                                   "full_attention"])"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.rotary_dim, 32);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.rotary_dim, 64);
  EXPECT_EQ(rotary_for(model, "full_attention").spec.base.get(), 500000);
  EXPECT_TRUE(warns(model, "that of the family's class is used"));
}

TEST(LayerKinds, Gemma4FullLayersHaveWiderHeads) {
  const ModelSpec model = resolved(model_with("gemma4_text", R"("global_head_dim": 128,
      "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.head_dim, 128);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.head_dim, 64);
}

TEST(LayerKinds, Step3p5ReadsListsOfBasesAndFractions) {
  const ModelSpec model = resolved(model_with("step3p5", R"(
      "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                      "full_attention", "sliding_attention"],
      "rope_theta": [5000000.0, 10000.0, 10000.0, 5000000.0, 10000.0],
      "partial_rotary_factors": [0.5, 1.0, 1.0, 0.5, 1.0],
      "rope_scaling": {"rope_type": "linear", "factor": 2})"));
  EXPECT_EQ(layers_of(model), "R0 R1 R1 R0");  // the model has no fifth layer
  EXPECT_EQ(rotary_for(model, "full_attention").spec.base.get(), 5e6);
  EXPECT_EQ(rotary_for(model, "full_attention").spec.rotary_dim, 32);
  EXPECT_EQ(rotary_for(model, "full_attention").spec.scaling, Scaling(LinearScaling{.factor = 2}));
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.rotary_dim, 64);
  not_supported(model_with("step3p5",
                           R"("layer_types": ["attention", "attention", "attention", "attention"],
             "rope_theta": [1e4, 1e4, 1e5, 1e4])"),
                {"rope_theta", "the same in all layers of type attention"});
  EXPECT_EQ(resolved(model_with("step3p5", R"("rope_theta": 20000)")).rotary[0].spec.base.get(),
            20000);
  const ModelSpec fractions = resolved(model_with("step3p5", R"("rope_theta": 20000,
      "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"],
      "partial_rotary_factors": [0.5, 0.5, 0.5, 0.5])"));
  EXPECT_EQ(fractions.rotary[0].spec.rotary_dim, 32);
  EXPECT_EQ(fractions.rotary[0].spec.base.get(), 20000);
  malformed(model_with("step3p5", R"("rope_theta": [1e4, 1e4, 1e4, 1e4])"),
            {"layer_types must be given"});
}

// Sliding layers are "main" and unscaled. All other layers are "compress" and have another base.
TEST(LayerKinds, DeepseekV4RotatesTheEndOfTheHead) {
  const ModelSpec model = resolved(
      R"({"model_type": "deepseek_v4", "head_dim": 512, "qk_rope_head_dim": 64,
          "num_hidden_layers": 3, "compress_ratios": [0, 4, 128], "rope_theta": 10000.0,
          "compress_rope_theta": 160000.0, "max_position_embeddings": 1048576,
          "rope_scaling": {"type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1,
                           "original_max_position_embeddings": 65536}})");
  const ModelRotary& main = rotary_for(model, "main");
  const ModelRotary& compress = rotary_for(model, "compress");
  EXPECT_EQ(main.spec.base.get(), 10000);
  EXPECT_EQ(main.spec.scaling, Scaling(NoScaling{}));
  EXPECT_EQ(main.spec.first_feature, 448);
  EXPECT_EQ(main.spec.rotary_dim, 64);
  EXPECT_EQ(compress.spec.base.get(), 160000);
  EXPECT_EQ(std::get<YarnScaling>(compress.spec.scaling).attention_factor, 1);
  EXPECT_EQ(model.rotary[model.layers[0].rotary].layer_type, "main");
  EXPECT_EQ(model.rotary[model.layers[2].rotary].layer_type, "compress");

  const ModelSpec short_end = resolved(model_with("deepseek_v4", R"("qk_rope_head_dim": 16)"));
  EXPECT_EQ(layers_of(short_end), "R0 R0 R0 R0");
  EXPECT_EQ(short_end.rotary.front().layer_type, "compress");
  EXPECT_EQ(short_end.rotary.front().spec.first_feature, 48);
}

TEST(LayerKinds, HybridModelsHaveLayersWithoutAttention) {
  EXPECT_EQ(layers_of(resolved(model_with("qwen3_next"))), "- - - R0");
  EXPECT_EQ(layers_of(resolved(model_with("qwen3_next", R"("full_attention_interval": 2)"))),
            "- R0 - R0");
  EXPECT_EQ(layers_of(resolved(model_with("olmo_hybrid"))), "- - - R0");
  EXPECT_EQ(layers_of(resolved(model_with("minimax"))), "R0 - R0 -");
  EXPECT_EQ(layers_of(resolved(model_with("minimax", R"("attn_type_list": [0, 0, 0, 1])"))),
            "- - - R0");
  EXPECT_EQ(layers_of(resolved(model_with("bamba", R"("attn_layer_indices": [2])"))), "- - R0 -");
  EXPECT_EQ(layers_of(resolved(model_with("lfm2", R"("full_attn_idxs": [0, 3])"))), "R0 - - R0");
  EXPECT_EQ(layers_of(resolved(model_with("mamba"))), "- - - -");
}

TEST(LayerKinds, CrossAttentionLayersDoNotRotate) {
  EXPECT_EQ(
      layers_of(resolved(model_with("mllama_text_model", R"("cross_attention_layers": [1, 3])"))),
      "R0 N R0 N");
  EXPECT_EQ(layers_of(resolved(model_with("mllama_text_model"))), "R0 R0 R0 N");
}

TEST(LayerKinds, KeysDecideWhetherHybridModelsRotate) {
  constexpr std::string_view types = R"("layer_types": ["mamba", "attention", "mamba", "mamba"])";
  const std::string none = model_with("granitemoehybrid", types);
  EXPECT_EQ(layers_of(resolved(none)), "- N - -");
  EXPECT_TRUE(resolved(none).rotary.empty());
  EXPECT_EQ(
      layers_of(resolved(model_with(
          "granitemoehybrid", std::string(types) + R"(, "position_embedding_type": "rope")"))),
      "- R0 - -");
  constexpr std::string_view blocks =
      R"("layers_block_type": ["mamba", "hybrid", "mamba", "mamba"], "use_mem_rope": )";
  EXPECT_EQ(layers_of(resolved(model_with("zamba2", std::string(blocks) + "true"))), "- R0 - -");
  EXPECT_EQ(layers_of(resolved(model_with("zamba2", std::string(blocks) + "false"))), "- N - -");
  EXPECT_EQ(layers_of(resolved(model_with("nemotron_h", R"("hybrid_override_pattern": "M*-M")"))),
            "- N - -");
  EXPECT_EQ(
      layers_of(resolved(model_with("jamba", R"("attn_layer_period": 2, "attn_layer_offset": 1)"))),
      "- N - N");
  malformed(model_with("nemotron_h"), {"layer_types", "must be given"});
  malformed(model_with("bamba", R"("attn_layer_indices": [4])"),
            {"attn_layer_indices", "0 to 3", "got 4"});
}

TEST(LayerKinds, Llama4ScalesQueriesOnlyInUnrotatedLayers) {
  const ModelSpec model = resolved(model_with("llama4_text"));
  EXPECT_EQ(model.layers[0].query_temperature, QueryTemperature());
  EXPECT_EQ(model.layers[3].query_temperature,
            QueryTemperature(StepTemperature{.scale = 0.1, .interval_tokens = 8192, .offset = 1}));
  const ModelSpec off = resolved(model_with("llama4_text", R"("attn_temperature_tuning": false)"));
  EXPECT_EQ(off.layers[3].query_temperature, QueryTemperature());
  EXPECT_EQ(resolved(model_with("llama4_text", R"("attn_temperature_tuning": 4)"))
                .layers[3]
                .query_temperature,
            model.layers[3].query_temperature);
  malformed(model_with("llama4_text", R"("floor_scale": 0)"), {"floor_scale", "got 0"});
}

TEST(LayerKinds, Ministral3ScalesQueriesInEveryLayer) {
  const ModelSpec model = resolved(model_with("ministral3", R"("rope_parameters": {
      "type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "mscale": 1.0,
      "mscale_all_dim": 1.0, "original_max_position_embeddings": 16384,
      "max_position_embeddings": 262144, "llama_4_scaling_beta": 0.1})"));
  const QueryTemperature wanted =
      StepTemperature{.scale = 0.1, .interval_tokens = 16384, .offset = 0};
  for (const ModelLayer& layer : model.layers) EXPECT_EQ(layer.query_temperature, wanted);
  EXPECT_EQ(model.rotary.front().softmax_factor, 1);  // because it has no latent attention
  const ModelSpec plain =
      resolved(model_with("ministral3", R"("rope_parameters": {"rope_type": "default"})"));
  EXPECT_EQ(plain.layers[0].query_temperature, QueryTemperature());
  malformed(model_with("ministral3", R"("rope_parameters": {"rope_type": "default",
                                        "llama_4_scaling_beta": -1})"),
            {"llama_4_scaling_beta must be >= 0, got -1"});
  malformed(model_with("ministral3", R"("rope_parameters": {"rope_type": "default",
                                        "llama_4_scaling_beta": 0.1})"),
            {"original_max_position_embeddings must be given", "got none"});
  not_supported(model_with("llama", R"("rope_parameters": {"rope_type": "default",
                                                   "llama_4_scaling_beta": 0.1})"),
                {"llama_4_scaling_beta"});
}

TEST(LayerKinds, UseLognAttnScalesTheQueriesOfQwen1) {
  const std::string members =
      R"("kv_channels": 64, "seq_length": 2048, "rotary_pct": 1.0, "rotary_emb_base": 10000,
         "use_dynamic_ntk": true, "use_logn_attn": )";
  const ModelSpec model = resolved(model_with("qwen", members + "true"));
  EXPECT_EQ(model.layers[0].query_temperature,
            QueryTemperature(LognTemperature{.trained_tokens = 2048}));
  EXPECT_EQ(model.rotary.front().trained_context_tokens, 2048);
  EXPECT_EQ(model.rotary.front().spec.scaling,
            Scaling(DoublingNtkScaling{.original_context_tokens = 2048}));
  EXPECT_EQ(resolved(model_with("qwen", members + "false")).layers[0].query_temperature,
            QueryTemperature());
  for (const std::string_view key : {"use_logn_attn", "use_dynamic_ntk"}) {
    malformed(R"({"model_type": "qwen", "kv_channels": 64, "num_hidden_layers": 1, )" +
                  test::member(key, "true") + "}",
              {"seq_length must be given", key, "got none"});
  }
}

}  // namespace
}  // namespace rotary
