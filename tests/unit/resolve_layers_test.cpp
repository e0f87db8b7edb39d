// SPDX-License-Identifier: Apache-2.0
// Tests the rotary embedding of each layer, the softcap, and values of single layers.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::llama_with;
using test::resolved;
using test::warns;

constexpr std::string_view two_types =
    R"("layer_types": ["sliding_attention", "full_attention"],
       "rope_parameters": {
         "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1000000},
         "sliding_attention": {"rope_type": "default", "rope_theta": 10000}})";

TEST(ResolveLayers, EachLayerTypeHasItsOwnRotaryEmbedding) {
  const ModelSpec model = resolved(llama_with(two_types));
  ASSERT_EQ(model.rotary.size(), 2U);
  ASSERT_EQ(model.layers.size(), 2U);
  const ModelRotary& sliding = model.rotary[model.layers[0].rotary];
  const ModelRotary& full = model.rotary[model.layers[1].rotary];
  EXPECT_EQ(sliding.layer_type, "sliding_attention");
  EXPECT_EQ(sliding.spec.base.get(), 10000);
  EXPECT_EQ(sliding.spec.scaling, Scaling(NoScaling{}));
  EXPECT_EQ(full.layer_type, "full_attention");
  EXPECT_EQ(full.spec.base.get(), 1000000);
  EXPECT_EQ(full.spec.scaling, Scaling(LinearScaling{.factor = 8}));
  EXPECT_EQ(full.trained_context_tokens, 4096);
}

TEST(ResolveLayers, OneFlatBaseServesAllLayerTypes) {
  const ModelSpec model = resolved(
      llama_with(R"("layer_types": ["sliding_attention", "full_attention"], "rope_theta": 20000)"));
  ASSERT_EQ(model.rotary.size(), 1U);
  EXPECT_FALSE(model.rotary.front().layer_type.has_value());
  EXPECT_EQ(model.layers[1].rotary, 0U);
}

TEST(ResolveLayers, OneNestedTypeServesAllLayers) {
  const ModelSpec model = resolved(llama_with(
      R"("layer_types": ["full_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 3}})"));
  ASSERT_EQ(model.rotary.size(), 1U);
  EXPECT_EQ(model.rotary.front().layer_type, "full_attention");
  EXPECT_EQ(model.rotary.front().spec.base.get(), 3);
  EXPECT_EQ(model.layers[1].rotary, 0U);
}

TEST(ResolveLayers, NestedTypesMustMatchLayerTypes) {
  // Ministral 3's query temperature reads the first dictionary, which a refused config may lack.
  test::malformed(
      test::model_with("ministral3", R"("rope_parameters": {"a": {"rope_type": "default"}})"),
      {"rope_parameters.a must be one of layer_types"});
  test::malformed(llama_with(R"("layer_types": ["full_attention", "sliding_attention"],
                    "rope_parameters": {"full_attention": {"rope_type": "default"}})"),
                  {"sliding_attention", "must be given"});
  test::malformed(llama_with(R"("layer_types": ["full_attention", "full_attention"],
                    "rope_parameters": {"full_attention": {"rope_type": "default"},
                                        "other_attention": {"rope_type": "default"}})"),
                  {"other_attention", "layer_types"});
}

TEST(ResolveLayers, ANestedMistakeIsNamedWithItsPath) {
  test::malformed(llama_with(R"("layer_types": ["full_attention", "full_attention"],
                    "rope_parameters": {"full_attention": {"rope_type": "linear"}})"),
                  {"rope_parameters.full_attention.factor", "must be given", "got none"});
}

TEST(ResolveLayers, LayerTypesMustFitTheLayerCount) {
  test::malformed(llama_with(R"("layer_types": ["full_attention"])"),
                  {"layer_types", "2", "got 1"});
  test::malformed(llama_with(R"("layer_types": "full_attention")"),
                  {"layer_types", "array of strings"});
  test::malformed(llama_with(R"("layer_types": [1, 2])"),
                  {"layer_types", "array of strings", "[1,2]"});
}

TEST(ResolveLayers, AMissingLayerCountGivesNoLayersAndAWarning) {
  const ModelSpec model = resolved(R"({"model_type": "llama", "head_dim": 64})");
  EXPECT_TRUE(model.layers.empty());
  EXPECT_EQ(model.rotary.size(), 1U);
  EXPECT_TRUE(warns(model, "num_hidden_layers"));
  EXPECT_FALSE(model.rotary.front().trained_context_tokens.has_value());
}

std::optional<Origin> origin_of_softcap(const ModelSpec& model) {
  for (const ValueSource& source : model.sources)
    if (source.value == "softcap") return source.origin;
  return {};
}

// The classes of Gemma 2 and VaultGemma cap scores at 50 if the key is absent; null means no cap.
// The classes of other known families do not read the key.
TEST(ResolveSoftcap, ComesFromTheConfigOrTheClass) {
  for (const std::string_view family : {"gemma2", "vaultgemma"}) {
    const ModelSpec silent = resolved(test::model_with(family));
    EXPECT_EQ(silent.softcap, 50) << family;
    EXPECT_EQ(origin_of_softcap(silent), Origin::class_default);
    const ModelSpec stated = resolved(test::model_with(family, R"("attn_logit_softcapping": 30)"));
    EXPECT_EQ(stated.softcap, 30);
    EXPECT_EQ(origin_of_softcap(stated), Origin::stated);
    EXPECT_FALSE(resolved(test::model_with(family, R"("attn_logit_softcapping": null)"))
                     .softcap.has_value());
  }
  for (const std::string_view family : {"gemma", "gemma3_text", "llama"}) {
    EXPECT_FALSE(
        resolved(test::model_with(family, R"("attn_logit_softcapping": 30)")).softcap.has_value());
  }
  const auto unknown = [](std::string_view members) {
    const std::string config = std::string(R"("rope_theta": 10000)").append(members);
    return resolved(test::model_with("new", config), {.pairing = Pairing::half});
  };
  EXPECT_EQ(unknown(R"(, "attn_logit_softcapping": 20)").softcap, 20);
  EXPECT_FALSE(unknown("").softcap.has_value());
}

TEST(ResolveSoftcap, MustBePositive) {
  for (const std::string_view cap : {"0", "-50", "1e30", "\"50\"", "true"}) {
    const std::string config =
        test::model_with("gemma2", test::member("attn_logit_softcapping", cap));
    EXPECT_TRUE(
        test::fails(resolve(config), ErrorCode::malformed_input, {"attn_logit_softcapping must"}))
        << cap;
  }
}

// Layer types, rope parameters and head sizes of single layers, as families write them.

using test::layers_of;
using test::malformed;
using test::model_with;
using test::not_supported;
using test::rotary_for;

constexpr std::string_view full_at_both_ends = R"("layer_types": ["full_attention",
    "sliding_attention", "sliding_attention", "full_attention"])";

std::string with_types(std::string_view family, std::string_view members) {
  return model_with(family, std::string(full_at_both_ends).append(", ").append(members));
}

TEST(LayerLists, BlockTypesAreRepeated) {
  EXPECT_EQ(layers_of(resolved(model_with("recurrent_gemma"))), "- - R0 -");
  EXPECT_EQ(layers_of(resolved(
                model_with("recurrent_gemma", R"("block_types": ["recurrent", "attention"])"))),
            "- R0 - R0");
}

TEST(LayerLists, KimiNumbersLayersFromOne) {
  EXPECT_EQ(layers_of(resolved(model_with(
                "kimi_linear", R"("linear_attn_config": {"full_attn_layers": [2, 4]})"))),
            "- N - N");
  malformed(model_with("kimi_linear", R"("linear_attn_config": {"full_attn_layers": [0]})"),
            {"linear_attn_config.full_attn_layers", "1 to 4", "got 0"});
}

TEST(LayerLists, UltrabertsWindowsChooseTheBase) {
  const ModelSpec model = resolved(model_with(
      "ultrabert", R"("attention_windows": [128, 0, null, 64], "rope_theta": [5000, 7, 7, 5000])"));
  EXPECT_EQ(layers_of(model), "R1 R0 R0 R1");
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.base.get(), 5000);
  malformed(model_with("ultrabert", R"("attention_windows": [128, -1, 0, 0])"),
            {"attention_windows", ">= 0", "got -1"});
}

TEST(LayerLists, NullParametersMeanNoRotation) {
  constexpr std::string_view parameters =
      R"("rope_parameters": {"sliding_attention": null, "full_attention": {"rope_theta": 7}})";
  const ModelSpec beam = resolved(with_types("beam", parameters));
  EXPECT_EQ(layers_of(beam), "R0 N N R0");
  const auto& power = std::get<PowerTemperature>(beam.layers[1].query_temperature);
  EXPECT_EQ(power.exponent, 0.1);
  EXPECT_EQ(power.interval_tokens, 2048);
  EXPECT_TRUE(std::holds_alternative<NoTemperature>(beam.layers[0].query_temperature));
  EXPECT_EQ(layers_of(resolved(with_types("cohere_compass_text", parameters))), "R0 N N R0");
  malformed(with_types("gemma4_text", parameters),
            {"sliding_attention", "must be given"});  // Gemma 4's class would fail
}

TEST(LayerLists, Molmo2ScalesTheListedLayers) {
  const ModelSpec model = resolved(model_with(
      "molmo2_text", R"("rope_scaling_layers": [1, 3], "rope_parameters": {"rope_type": "linear",
                        "factor": 8, "rope_theta": 5000})"));
  EXPECT_EQ(layers_of(model), "R1 R0 R1 R0");
  EXPECT_TRUE(std::holds_alternative<LinearScaling>(model.rotary[0].spec.scaling));
  EXPECT_TRUE(std::holds_alternative<NoScaling>(model.rotary[1].spec.scaling));
  EXPECT_EQ(model.rotary[1].spec.base.get(), 5000);
  EXPECT_EQ(layers_of(resolved(model_with("molmo2_text", R"("rope_scaling_layers": [1])"))),
            "R0 R0 R0 R0");
  malformed(model_with("molmo2_text", R"("rope_scaling_layers": [4])"),
            {"rope_scaling_layers", "0 to 3", "got 4"});
}

TEST(LayerLists, MuseLayersWithABaseOfZeroDoNotRotate) {
  EXPECT_EQ(layers_of(resolved(model_with("muse_spark_text"))), "R0 R0 R0 N");
  const ModelSpec model = resolved(model_with(
      "muse_glimmer_text", R"("rope_theta": 500, "layer_rope_theta": [0, 500, 500, 9])"));
  EXPECT_EQ(layers_of(model), "N R0 R0 R0");
  EXPECT_TRUE(warns(model, "layer_rope_theta 9 turns as rope_theta, 500"));
}

TEST(LayerLists, PerLayerHeadSizesMustAgreeWithinALayerType) {
  const auto with = [](std::string_view layers) {
    return with_types("embedding_gemma2_text",
                      std::string(R"("per_layer_config": )").append(layers));
  };
  const ModelSpec model = resolved(with(R"({"0": {"head_dim": 96}, "03": {"head_dim": 96}})"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.head_dim, 96);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.head_dim, 64);
  not_supported(with(R"({"0": {"head_dim": 96}, "3": {"head_dim": 32}})"),
                {"per_layer_config.3.head_dim", "must be 96", "got 32"});
  not_supported(with(R"({"1": {"head_dim": 96}})"),
                {"per_layer_config.1.head_dim", "must be 64", "got 96"});
  not_supported(with(R"({"1": {"rope_theta": 7}})"),
                {"per_layer_config.1.rope_theta", "single layers"});
  malformed(with(R"({"4": {}})"), {"per_layer_config.4", "0 to 3"});
  malformed(with(R"({"x": {}})"), {"per_layer_config.x", "0 to 3"});
}

TEST(LayerLists, ValuesOfAnotherTypeAreRefused) {
  for (const std::string value : {R"("x")", "[]", "5"}) {
    malformed(model_with("kimi_linear", R"("linear_attn_config": )" + value),
              {"linear_attn_config must be an object", value});
  }
  malformed(model_with("kimi_linear", R"("linear_attn_config": {"full_attn_layers": [1.5]})"),
            {"numbers of layers, 1 to 4", "got 1.5"});
  for (const std::string value : {R"("x")", "{}", "[]"}) {
    malformed(model_with("nemotron-nas", R"("block_configs": )" + value),
              {"block_configs must be an array", value});
  }
}

// Transformers 5.23 saves Gemma 4 without global_head_dim.
TEST(LayerLists, Gemma4ReadsPerLayerHeadSizes) {
  const auto gemma4 = [](std::string_view entries) {
    return R"({"model_type": "gemma4_text", "num_hidden_layers": 12, "per_layer_config": {)" +
           std::string(entries) + "}}";
  };
  const ModelSpec model = resolved(gemma4(R"("5": {"head_dim": 384}, "11": {"head_dim": 384})"));
  EXPECT_EQ(rotary_for(model, "full_attention").spec.head_dim, 384);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.head_dim, 256);
  not_supported(gemma4(R"("5": {"head_dim": 384})"), {"11.head_dim", "must be 384"});
  not_supported(gemma4(R"("4": {"head_dim": 384})"), {"4.head_dim", "must be 256"});
}

TEST(LayerLists, OtherFamiliesRefuseSeveralHeadSizes) {
  const auto llama = [](std::string_view entries) {
    return model_with("llama", std::string(R"("per_layer_config": )") + std::string(entries));
  };
  not_supported(llama(R"({"1": {"head_dim": 32}})"), {"must be 64", "got 32"});
  EXPECT_TRUE(resolve(llama(R"({"1": {"num_attention_heads": 4}})")));  // head_dim is given
  not_supported(R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 2,
                                "num_attention_heads": 2,
                                "per_layer_config": {"1": {"num_attention_heads": 4}}})",
                {"1.num_attention_heads", "single layers"});
  EXPECT_TRUE(resolve(llama(R"({"0": {"num_key_value_heads": 1}})")));
}

TEST(LayerLists, Dots3SlidingLayersHaveMoreUnrotatedFeatures) {
  const ModelSpec model =
      resolved(model_with("dots3_note_text", R"("layer_types": ["full_attention",
          "indexed_attention", "sliding_attention", "sliding_attention"])"));
  EXPECT_EQ(layers_of(model), "R0 R0 R1 R1");
  EXPECT_EQ(rotary_for(model, "indexed_attention").nope_head_dim, 128);
  EXPECT_EQ(rotary_for(model, "sliding_attention").nope_head_dim, 192);
  EXPECT_EQ(rotary_for(model, "sliding_attention").spec.base.get(), 50000);
  not_supported(model_with("dots3_note_text", R"("swa_qk_rope_head_dim": 32)"),
                {"swa_qk_rope_head_dim", "64", "got 32"});
}

TEST(LayerLists, IndexedAttentionRotates) {
  EXPECT_EQ(layers_of(resolved(model_with("qwen4_exp_text",
                                          R"("layer_types": ["linear_attention", "full_attention",
                                                     "linear_attention", "indexed_attention"])"))),
            "- R0 - R0");
}

TEST(LayerLists, LearnedFactorsGiveAWarning) {
  EXPECT_TRUE(warns(resolved(model_with("mistral_large4_text")), "rotary_emb.alpha"));
}

TEST(LayerLists, HunyuansXdropeIsNtkWithoutAxes) {
  const ModelSpec model = resolved(model_with("hunyuan_vl_text", R"("rope_scaling":
      {"type": "xdrope", "alpha": 1000, "xdrope_section": [8, 8, 8, 8]})"));
  EXPECT_EQ(std::get<NtkScaling>(model.rotary[0].spec.scaling).alpha, 1000);
  EXPECT_FALSE(model.rotary[0].spec.axes.has_value());
  EXPECT_TRUE(warns(model, "no rotation"));
}

}  // namespace
}  // namespace rotary
