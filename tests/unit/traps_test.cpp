// SPDX-License-Identifier: Apache-2.0
// Mistakes that implementations have made with configs. resolve() reads each config right, refuses
// it or warns.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "rotary/frequencies.hpp"
#include "support/refusals.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::layers_of;
using test::llama_with;
using test::model_with;
using test::resolved;
using test::resolved_rotary;
using test::warns;

Frequencies frequencies_of(const RotarySpec& spec) {
  return test::value_of(make_frequencies(spec));
}

YarnScaling yarn_of(const RotarySpec& spec) { return std::get<YarnScaling>(spec.scaling); }

std::string yarn_with(std::string_view members) {
  return llama_with(R"("rope_scaling": {"rope_type": "yarn", "factor": 4,
                       "original_max_position_embeddings": 1024, )" +
                    std::string(members) + "}");
}

// Transformers 4.51 to 4.55 replaced the factor by max_position_embeddings / original. The quotient
// is 1 for the config in Qwen2.5's model card, so YaRN was off, and 1.25 for Qwen3.
TEST(Traps, TheStatedYarnFactorIsKept) {
  const auto config = [](std::string_view positions) {
    return R"({"model_type": "qwen2", "head_dim": 128, "num_hidden_layers": 2,
               "max_position_embeddings": )" +
           std::string(positions) + R"(, "rope_scaling": {"type": "yarn", "factor": 4.0,
               "original_max_position_embeddings": 32768}})";
  };
  EXPECT_EQ(yarn_of(resolved_rotary(config("32768"))).factor, 4);
  const ModelSpec longer = resolved(config("40960"));
  EXPECT_EQ(yarn_of(longer.rotary.front().spec).factor, 4);
  EXPECT_TRUE(warns(longer,
                    "factor 4 is not max_position_embeddings / "
                    "original_max_position_embeddings = 1.25"));
  EXPECT_TRUE(resolved(config("131072")).warnings.empty());
}

// gpt-oss is trained with "truncate": false. true would change its frequencies by up to 76 %.
TEST(Traps, TruncateFalseIsHonoured) {
  const std::string nested =
      model_with("qwen3", R"("layer_types": ["full_attention", "full_attention", "full_attention",
                                             "full_attention"],
          "rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4,
              "original_max_position_embeddings": 1024, "truncate": false}})");
  const ModelSpec model = resolved(nested);
  EXPECT_EQ(yarn_of(model.rotary.front().spec).ramp, YarnRamp::fractional);
  EXPECT_TRUE(warns(model, "rope_parameters.full_attention.truncate"));  // Transformers ignores it
  EXPECT_FALSE(warns(resolved(yarn_with(R"("truncate": false)")), "truncate"));
}

// DeepSeek multiplies the softmax scale by g², whatever the attention factor. Transformers 4.57
// left out g² for V2. V2's cached keys stay interleaved, but V3's become halves.
TEST(Traps, DeepseekSoftmaxFactorIsNotTheAttentionFactor) {
  const auto config = [](std::string_view family) {
    return model_with(family, R"("rope_scaling": {"type": "yarn", "factor": 40, "mscale": 0.707,
        "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096})");
  };
  const double g = 0.1 * 0.707 * std::log(40.0) + 1;
  for (const bool is_v2 : {true, false}) {
    const ModelRotary rotary = resolved(config(is_v2 ? "deepseek_v2" : "deepseek_v3")).rotary[0];
    EXPECT_NEAR(rotary.softmax_factor, g * g, 1e-15);
    EXPECT_EQ(frequencies_of(rotary.spec).attention_factor, 1);
    EXPECT_EQ(rotary.spec.pairing, is_v2 ? Pairing::interleaved : Pairing::interleaved_to_half);
  }
  EXPECT_EQ(resolved(config("llama")).rotary.front().softmax_factor, 1);
}

// Scaled rules read partial_rotary_factor for every family. rope_type default reads it for some.
TEST(Traps, RopeTypeDefaultIgnoresALlamasFraction) {
  constexpr std::string_view half = R"("partial_rotary_factor": 0.5)";
  const ModelSpec llama = resolved(llama_with(half));
  EXPECT_FALSE(llama.rotary.front().spec.rotary_dim.has_value());
  EXPECT_TRUE(warns(llama, "partial_rotary_factor 0.5 is ignored"));
  EXPECT_EQ(resolved_rotary(yarn_with(R"("partial_rotary_factor": 0.5)")).rotary_dim, 32);
  EXPECT_EQ(resolved_rotary(model_with("glm4_moe", half)).rotary_dim, 32);
}

// In no_rope_layers 1 means that the layer rotates.
TEST(Traps, OneInNoRopeLayersMeansRope) {
  for (const std::string_view family : {"smollm3", "llama4_text"}) {
    SCOPED_TRACE(family);
    EXPECT_EQ(layers_of(resolved(model_with(family))), "R0 R0 R0 N");
    EXPECT_EQ(layers_of(resolved(model_with(family, R"("no_rope_layers": [0, 1, 1, 0])"))),
              "N R0 R0 N");
    EXPECT_EQ(layers_of(resolved(model_with(family, R"("no_rope_layer_interval": 2)"))),
              "R0 N R0 N");
  }
}

// 1e11 is beyond a 32-bit integer. A base may be written as an integer or as a decimal fraction.
TEST(Traps, LargeBasesAreReadExactly) {
  for (const std::string_view base : {"100000000000", "100000000000.0", "1e11"}) {
    EXPECT_EQ(resolved_rotary(model_with("falcon_h1", test::member("rope_theta", base))).base.get(),
              1e11);
  }
}

// Transformers 5 uses rope_theta for full layers only. Sliding layers keep the class's base,
// 500000.
TEST(Traps, ABaseOfOlmo3sFullLayersAloneGivesAWarning) {
  EXPECT_TRUE(warns(resolved(model_with("olmo3", R"("rope_theta": 20000)")),
                    "rope_theta 20000 is of full layers alone"));
  EXPECT_FALSE(warns(resolved(model_with("olmo3", R"("rope_theta": 500000)")), "full layers"));
}

// Normalising q and k, before or after rotation, does not change the rotation.
TEST(Traps, NormsOfQueriesAndKeysChangeNoFrequencies) {
  const RotarySpec with = resolved_rotary(model_with("llama4_text", R"("use_qk_norm": true)"));
  const RotarySpec without = resolved_rotary(model_with("llama4_text", R"("use_qk_norm": false)"));
  EXPECT_EQ(frequencies_of(with).inv_freq, frequencies_of(without).inv_freq);
}

}  // namespace
}  // namespace rotary
