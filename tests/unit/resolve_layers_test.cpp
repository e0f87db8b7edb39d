// SPDX-License-Identifier: Apache-2.0
// Which layer uses which rotary embedding: one for all, or one for each layer type.
#include <gtest/gtest.h>

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

TEST(ResolveLayers, AllShareOneRotaryEmbedding) {
  const ModelSpec model = resolved(llama_with(""));
  ASSERT_EQ(model.layers.size(), 2U);
  for (const ModelLayer& layer : model.layers) {
    EXPECT_EQ(layer.encoding, LayerEncoding::rotary);
    EXPECT_EQ(layer.rotary, 0U);
  }
}

TEST(ResolveLayers, EachTypeHasItsOwn) {
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

TEST(ResolveLayers, CrossAttentionOfMllamaDoesNotRotate) {
  constexpr std::string_view config =
      R"({"model_type": "mllama_text_model", "hidden_size": 256, "num_attention_heads": 4,
          "num_hidden_layers": 5, "max_position_embeddings": 4096)";
  const ModelSpec listed = resolved(std::string(config) + R"(, "cross_attention_layers": [1]})");
  const ModelSpec usual = resolved(std::string(config) + "}");
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(listed.layers[i].encoding == LayerEncoding::none, i == 1);
    EXPECT_EQ(usual.layers[i].encoding == LayerEncoding::none, i == 3);
  }
}

TEST(ResolveLayers, LayerTypesWithAFlatDictionaryShareIt) {
  const ModelSpec model = resolved(
      llama_with(R"("layer_types": ["sliding_attention", "full_attention"], "rope_theta": 20000)"));
  ASSERT_EQ(model.rotary.size(), 1U);
  EXPECT_FALSE(model.rotary.front().layer_type.has_value());
  EXPECT_EQ(model.layers[1].rotary, 0U);
}

TEST(ResolveLayers, OneTypeInNestedForm) {
  const ModelSpec model = resolved(llama_with(
      R"("layer_types": ["full_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 3}})"));
  ASSERT_EQ(model.rotary.size(), 1U);
  EXPECT_EQ(model.rotary.front().layer_type, "full_attention");
  EXPECT_EQ(model.rotary.front().spec.base.get(), 3);
  EXPECT_EQ(model.layers[1].rotary, 0U);
}

TEST(ResolveLayers, NestedTypesMustMatchLayerTypes) {
  test::malformed(llama_with(R"("rope_parameters": {"full_attention": {"rope_type": "default"}})"),
                  {"full_attention", "layer_types"});
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

TEST(ResolveLayers, WithoutACountThereIsNoListAndAWarning) {
  const ModelSpec model = resolved(R"({"model_type": "llama", "head_dim": 64})");
  EXPECT_TRUE(model.layers.empty());
  EXPECT_EQ(model.rotary.size(), 1U);
  EXPECT_TRUE(warns(model, "num_hidden_layers"));
  EXPECT_FALSE(model.rotary.front().trained_context_tokens.has_value());
}

TEST(ResolveLayers, AnAbsurdCountIsRefused) {
  for (const std::string_view count : {"0", "-1", "1000000000000", "9007199254740993", "1e300"}) {
    test::malformed(R"({"model_type": "llama", "head_dim": 64, "num_hidden_layers": )" +
                        std::string(count) + "}",
                    {"num_hidden_layers", "got"});
  }
}

std::optional<Origin> origin_of_softcap(const ModelSpec& model) {
  for (const ValueSource& source : model.sources)
    if (source.value == "softcap") return source.origin;
  return {};
}

// Gemma 2's class caps scores where the config is silent; null is none; other families' code has no
// use for the key.
TEST(ResolveSoftcap, IsThatOfTheConfigOrOfTheClass) {
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

}  // namespace
}  // namespace rotary
