// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gguf/resolving.hpp"
#include "rotary/scaling.hpp"
#include "support/refusals.hpp"

namespace rotary {
namespace {

using test::GgufFile;
using test::layers_of;
using test::refused;
using test::resolve;
using test::resolved;
using test::source_of;
using test::with_layers;
using test::yarn;

constexpr auto malformed = ErrorCode::malformed_input;

// llama.cpp's set_swa_pattern gives the last (or first) layer of each period full attention.
TEST(GgufLayers, SlidingLayersFollowTheArchitecturesPattern) {
  const auto layers = [](std::string_view architecture, std::uint32_t count) {
    return layers_of(resolved(with_layers(architecture, count)
                                  .f32("$.rope.freq_base", 1e6F)
                                  .u32("$.attention.sliding_window", 512)));
  };
  EXPECT_EQ(layers("gemma3", 12), "111110111110");
  EXPECT_EQ(layers("gemma3n", 6), "111101");
  EXPECT_EQ(layers("modern-bert", 6), "011011");
  EXPECT_EQ(layers("gemma2", 4), "0000");       // one base, one embedding
  EXPECT_EQ(layers("cohere2", 8), "000n000n");  // full layers do not rotate
  EXPECT_EQ(layers("cohere2moe", 8), "n000n000");
  EXPECT_EQ(layers("exaone4", 30), std::string(30, '0'));
  EXPECT_EQ(layers("exaone4", 64).substr(0, 8), "000n000n");
  EXPECT_EQ(layers("smollm3", 8), "000n000n");
  EXPECT_EQ(layers("llama4", 8), "000n000n");
  EXPECT_EQ(layers("smallthinker", 8), "n000n000");
  EXPECT_EQ(layers_of(resolved(with_layers("smallthinker", 8))), "00000000");
  EXPECT_EQ(layers_of(resolved(with_layers("gemma3", 6))), "000000");
  const GgufFile no_window = with_layers("llama4", 8).u32("$.attention.sliding_window", 0);
  EXPECT_EQ(layers_of(resolved(no_window)), "00000000");
}

TEST(GgufLayers, TheFilesPatternOverridesTheArchitecture) {
  const GgufFile file =
      with_layers("gemma3", 4).u32("$.attention.sliding_window", 512).f32("$.rope.freq_base", 1e6F);
  EXPECT_EQ(layers_of(resolved(GgufFile(file).u32("$.attention.sliding_window_pattern", 2))),
            "1010");
  EXPECT_EQ(layers_of(resolved(GgufFile(file).u32("$.attention.sliding_window_pattern", 0))),
            "0000");
  const ModelSpec listed = resolved(
      GgufFile(file).booleans("$.attention.sliding_window_pattern", {false, true, true, false}));
  EXPECT_EQ(layers_of(listed), "0110");
  EXPECT_EQ(listed.rotary.at(0).spec.base, 1e6);
  EXPECT_EQ(listed.rotary.at(1).spec.base, 1e4);
  EXPECT_EQ(source_of(listed.sources, "layer_types"),
            "stated gemma3.attention.sliding_window_pattern");
  refused(resolve(GgufFile(file).booleans("$.attention.sliding_window_pattern", {true})),
          {"must have one entry for each layer, 4; got 1"}, malformed);
}

TEST(GgufLayers, SlidingLayersOfOlmo2AreNotScaled) {
  const auto second = [](std::string_view architecture) {
    const ModelSpec model = resolved(yarn(architecture, 8).u32("$.attention.sliding_window", 512));
    return model.rotary.size() == 2 ? model.rotary[1].spec.scaling : Scaling(NtkScaling{});
  };
  EXPECT_EQ(second("olmo2"), Scaling(NtkScaling{}));  // two layers: the period is four
  const ModelSpec olmo = resolved(with_layers("olmo2", 4)
                                      .text("$.rope.scaling.type", "yarn")
                                      .f32("$.rope.scaling.factor", 8)
                                      .u32("$.attention.sliding_window", 512)
                                      .f32("$.rope.freq_base", 5e5F)
                                      .f32("$.rope.freq_base_swa", 1e4F));
  EXPECT_EQ(layers_of(olmo), "1110");
  EXPECT_EQ(olmo.rotary.at(1).spec.scaling, Scaling(NoScaling{}));
  EXPECT_EQ(olmo.rotary.at(1).spec.base, 5e5);  // llama.cpp uses the full layers' base
}

TEST(GgufLayers, SomeLayersLackAttention) {
  EXPECT_EQ(layers_of(resolved(with_layers("qwen3next", 8))), "xxx0xxx0");
  EXPECT_EQ(
      layers_of(resolved(with_layers("lfm2", 4).i32s("$.attention.head_count_kv", {0, 8, 0, 8}))),
      "x0x0");
  EXPECT_EQ(
      layers_of(resolved(with_layers("jamba", 3).i32s("$.attention.head_count_kv", {0, 8, 0}))),
      "xnx");
  EXPECT_EQ(layers_of(resolved(with_layers("mamba", 2))), "xx");
  EXPECT_EQ(
      layers_of(resolved(with_layers("granite", 2).boolean("$.rope.scaling.finetuned", false))),
      "nn");
}

TEST(GgufLayers, DraftLayersAreLeftOut) {
  const GgufFile file = with_layers("glm4moe", 5).u32("$.nextn_predict_layers", 1);
  EXPECT_EQ(resolved(file).layers.size(), 4U);
}

TEST(GgufLayers, QueryTemperaturesAreRead) {
  const ModelSpec llama4 = resolved(with_layers("llama4", 4));
  EXPECT_EQ(llama4.layers[0].query_temperature, QueryTemperature(NoTemperature{}));
  EXPECT_EQ(llama4.layers[3].query_temperature,
            QueryTemperature(StepTemperature{.scale = 0.1, .interval_tokens = 8192, .offset = 1}));
  const ModelSpec mistral =
      resolved(yarn("mistral3", 16).f32("$.attention.temperature_scale", 0.5F));
  EXPECT_EQ(mistral.layers[0].query_temperature,
            QueryTemperature(StepTemperature{.scale = 0.5, .interval_tokens = 1024, .offset = 0}));
}

}  // namespace
}  // namespace rotary
