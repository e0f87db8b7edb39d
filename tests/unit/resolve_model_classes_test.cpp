// SPDX-License-Identifier: Apache-2.0
// Peculiarities of model classes: latent attention, nested configs, old names of keys, and
// encodings that the config selects.
#include <gtest/gtest.h>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::layers_of;
using test::malformed;
using test::model_with;
using test::not_supported;
using test::resolved;
using test::resolved_rotary;
using test::warns;

TEST(LatentAttention, HeadDimIsQkRopeHeadDim) {
  const ModelSpec model = resolved(
      R"({"model_type": "kimi_k2", "hidden_size": 7168, "num_attention_heads": 64, "head_dim": 112,
          "num_hidden_layers": 1, "rope_theta": 50000, "qk_rope_head_dim": 32,
          "qk_nope_head_dim": 96})");
  const ModelRotary& rotary = model.rotary.front();
  EXPECT_EQ(rotary.spec.head_dim, 32);
  EXPECT_EQ(rotary.nope_head_dim, 96);
  EXPECT_EQ(rotary.spec.base.get(), 50000);
  EXPECT_EQ(rotary.softmax_factor, 1);
  EXPECT_TRUE(model.warnings.empty());
  EXPECT_EQ(resolved(model_with("glm4_moe_lite")).rotary.front().nope_head_dim, 192);
  EXPECT_EQ(resolved(model_with("minicpm3")).rotary.front().spec.head_dim, 32);
  EXPECT_EQ(resolved_rotary(model_with("minicpm3")).pairing.get(), Pairing::half);
  malformed(model_with("deepseek_v3", R"("qk_nope_head_dim": -1)"), {"qk_nope_head_dim", "got -1"});
}

TEST(LatentAttention, PartialRotaryFactorIsIgnored) {
  EXPECT_TRUE(warns(resolved(model_with("deepseek_v3", R"("partial_rotary_factor": 0.5)")),
                    "all of qk_rope_head_dim, 64, turns"));
  const ModelSpec mistral = resolved(model_with("mistral4", R"("rope_parameters": {
      "type": "yarn", "rope_theta": 10000.0, "factor": 128.0, "llama_4_scaling_beta": 0.1,
      "original_max_position_embeddings": 8192, "partial_rotary_factor": 0.5})"));
  EXPECT_FALSE(warns(mistral, "partial_rotary_factor"));
  EXPECT_EQ(mistral.rotary.front().spec.rotary_dim.value_or(64), 64);
}

TEST(LatentAttention, RopeInterleaveFalseMeansPairingHalf) {
  EXPECT_EQ(resolved_rotary(model_with("deepseek_v3", R"("rope_interleave": false)")).pairing.get(),
            Pairing::half);
  EXPECT_EQ(resolved_rotary(model_with("deepseek_v3", R"("rope_interleave": true)")).pairing.get(),
            Pairing::interleaved_to_half);
  EXPECT_TRUE(warns(resolved(model_with("deepseek_v2", R"("rope_interleave": true)")),
                    "rope_interleave is ignored"));
}

TEST(LatentAttention, AnMscaleAllDimOfZeroGivesASoftmaxFactorOfOne) {
  EXPECT_EQ(resolved(model_with("deepseek_v3", R"("rope_scaling": {"rope_type": "yarn",
                "factor": 8, "mscale_all_dim": 0})"))
                .rotary.front()
                .softmax_factor,
            1);
}

TEST(Wrappers, TheLanguageModelIsInTextConfig) {
  const auto wrapped = [](std::string_view type, std::string_view key, std::string_view config) {
    return test::json_object(test::member("model_type", test::json_text(type)) + ", " +
                             test::member(key, config));
  };
  for (const auto& [type, inner_type] :
       {std::pair<std::string_view, std::string_view>{"llava", "llama"},
        {"mistral3", "ministral3"},
        {"kimi_k25", "deepseek_v3"},
        {"gemma3", "gemma3_text"}}) {
    SCOPED_TRACE(type);
    EXPECT_EQ(resolved(wrapped(type, "text_config", model_with(inner_type))).model_type,
              inner_type);
  }
  // An inner config without a model_type gets the default of its wrapper's class.
  const ModelSpec model = resolved(
      wrapped("aya_vision", "text_config",
              R"({"hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 4})"));
  EXPECT_EQ(model.model_type, "cohere2");
  EXPECT_EQ(layers_of(model), "R0 R0 R0 N");
  // The language model may be two levels deep.
  const std::string thinker = wrapped("qwen2_5_omni_thinker", "text_config",
                                      model_with("qwen2_5_omni_text", R"("rope_theta": 7)"));
  EXPECT_EQ(resolved_rotary(wrapped("qwen2_5_omni", "thinker_config", thinker)).base.get(), 7);
}

TEST(Wrappers, MessagesNameTheFullPath) {
  malformed(R"({"model_type": "llava", "text_config": {"model_type": "llama",
                            "head_dim": 64, "rope_theta": "x"}})",
            {"text_config.rope_theta must be a number"});
  malformed(R"({"model_type": "llava", "text_config": {"model_type": "llama",
                            "head_dim": 64, "rope_scaling": {"type": "linear"}}})",
            {"text_config.rope_scaling.factor must be given"});
  not_supported(R"({"model_type": "llava", "text_config": {"model_type": "other"}})",
                {"text_config.model_type", "'other'"});
  malformed(R"({"model_type": "llava", "hidden_size": 128})",
            {"text_config must be an object", "none"});
  malformed(R"({"model_type": "llava", "text_config": 3})", {"text_config", "got 3"});
}

TEST(Wrappers, KeysOutsideTheLanguageModelAreIgnored) {
  const ModelSpec model = resolved(R"({"model_type": "llava", "rope_theta": 5, "rope_scaling": null,
                   "text_config": {"model_type": "llama", "head_dim": 64, "rope_theta": 7,
                                   "num_hidden_layers": 1}})");
  EXPECT_EQ(model.rotary.front().spec.base.get(), 7);
  EXPECT_TRUE(warns(model, "rope_theta is ignored: the language model's is in text_config"));
  EXPECT_EQ(model.warnings.size(), 1U);
}

// MLC's config of Ministral 3 has the language model's model_type outside, and all other keys in
// text_config. The published file has model_type mistral3 outside.
TEST(Wrappers, ATextConfigOfTheSameTypeIsRead) {
  for (const std::string_view text : {R"({"hidden_size": 4096, "num_hidden_layers": 2})",
                                      R"({"model_type": "ministral3", "num_hidden_layers": 2})"}) {
    const ModelSpec model =
        resolved(R"({"model_type": "ministral3", "text_config": )" + std::string(text) + "}");
    EXPECT_EQ(model.config_part, "text_config");
    EXPECT_EQ(model.layers.size(), 2U);
    EXPECT_EQ(rope_type(model.rotary.at(0).spec.scaling), "yarn");
  }
  // A text_config of another model_type is not read.
  EXPECT_NE(resolved_rotary(model_with("ministral3", R"("text_config": {"model_type": "other",
                              "rope_parameters": {"rope_type": "default", "rope_theta": 7}})"))
                .base.get(),
            7);
}

// The table of families has "" for a key that a family lacks.
TEST(Wrappers, AnEmptyKeyIsIgnored) {
  EXPECT_EQ(resolved_rotary(model_with("llama", R"("": 3, "rope_theta": 7)")).base.get(), 7);
}

// Qwen2-VL's published config is flat.
TEST(Wrappers, AFlatQwen2VlConfigIsRead) {
  const ModelSpec model = resolved(model_with("qwen2_vl", R"("rope_theta": 1000000.0,
      "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]})"));
  EXPECT_EQ(model.model_type, "qwen2_vl");
  EXPECT_EQ(model.rotary.front().spec.axes.value().pairs, (std::vector<std::int64_t>{8, 12, 12}));
  EXPECT_EQ(model.rotary.front().spec.scaling, Scaling(NoScaling{}));
  EXPECT_TRUE(model.warnings.empty());
}

TEST(OldNames, SetTheBaseAndTheFraction) {
  EXPECT_EQ(resolved_rotary(model_with("stablelm", R"("rope_pct": 0.5)")).rotary_dim, 32);
  EXPECT_EQ(resolved_rotary(model_with("gpt_neox_japanese", R"("rotary_pct": 0.5)")).rotary_dim,
            32);
  EXPECT_EQ(resolved_rotary(model_with("openelm", R"("rope_freq_constant": 20000,
                                                      "rope_max_length": 4096)"))
                .base.get(),
            20000);
  const RotarySpec chatglm = resolved_rotary(model_with(
      "chatglm", R"("num_layers": 2, "kv_channels": 128, "rope_ratio": 500, "seq_length": 131072,
                    "original_rope": true)"));
  EXPECT_EQ(chatglm.base.get(), 5e6);
  EXPECT_EQ(chatglm.head_dim, 128);
  EXPECT_EQ(chatglm.rotary_dim, 64);
  not_supported(model_with("chatglm", R"("original_rope": false)"), {"original_rope"});
  const RotarySpec nomic = resolved_rotary(
      R"({"model_type": "nomic_bert", "n_embd": 768, "n_head": 12, "n_layer": 12,
          "rotary_emb_base": 1000, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": false,
          "rotary_emb_scale_base": null, "rotary_scaling_factor": null})");
  EXPECT_EQ(nomic.head_dim, 64);
  EXPECT_EQ(nomic.rotary_dim, 32);
  EXPECT_EQ(nomic.base.get(), 1000);
  EXPECT_EQ(nomic.pairing.get(), Pairing::half);
  EXPECT_EQ(
      resolved_rotary(model_with("dbrx", R"("attn_config": {"rope_theta": 500000})")).base.get(),
      500000);
}

TEST(OldNames, RotaryDimReplacesTheFraction) {
  const ModelSpec old = resolved(
      R"({"model_type": "phi", "n_embd": 2560, "n_head": 32, "n_layer": 32, "rotary_dim": 32})");
  EXPECT_EQ(old.rotary.front().spec.rotary_dim, 32);
  EXPECT_TRUE(warns(old, "rotary_dim 32 is used"));
  const ModelSpec both =
      resolved(model_with("phi", R"("rotary_dim": 16, "partial_rotary_factor": 0.5)"));
  EXPECT_EQ(both.rotary.front().spec.rotary_dim, 32);
  EXPECT_TRUE(warns(both, "rotary_dim 16 is ignored"));
}

// Transformers' class rotates the full head, other engines only rotary_dim features.
TEST(Disagreements, MinimaxIgnoresRotaryDimWithAWarning) {
  const ModelSpec model = resolved(model_with("minimax", R"("rotary_dim": 32)"));
  EXPECT_EQ(model.rotary.front().spec.rotary_dim.value_or(64), 64);
  EXPECT_TRUE(warns(model, "vLLM and llama.cpp turn 32"));
}

TEST(Disagreements, PersimmonMustGiveItsBase) {
  malformed(model_with("persimmon"), {"rope_theta must be given"});
  EXPECT_EQ(resolved_rotary(model_with("persimmon", R"("rope_theta": 25000)")).rotary_dim, 32);
}

TEST(Classes, DetermineSenseAndRounding) {
  EXPECT_EQ(resolved_rotary(model_with("nanochat")).sense, Sense::negative);
  EXPECT_EQ(resolved_rotary(model_with("llama")).sense, Sense::positive);
  EXPECT_EQ(resolved_rotary(model_with("llama")).rounding, Rounding::every_step);
  EXPECT_EQ(resolved_rotary(model_with("olmo2")).rounding, Rounding::result);
  EXPECT_EQ(resolved_rotary(model_with("cohere")).rounding, Rounding::table);
  EXPECT_EQ(resolved_rotary(model_with("roformer")).rounding, Rounding::double_angle);
}

TEST(Classes, GptOssHasYarnByDefault) {
  const ModelSpec model = resolved(model_with("gpt_oss"));
  const auto& rule = std::get<YarnScaling>(model.rotary.front().spec.scaling);
  EXPECT_EQ(rule.factor, 32);
  EXPECT_EQ(rule.ramp, YarnRamp::fractional);
  EXPECT_EQ(model.rotary.front().spec.base.get(), 150000);
  EXPECT_TRUE(warns(model, "rope_parameters is absent"));
}

// Families that do not rotate, and families whose config selects the encoding.

TEST(Encodings, FollowTheFamily) {
  struct Case {
    std::string_view config;
    LayerEncoding encoding;
  };
  for (const auto& [config, encoding] : {
           Case{R"({"model_type": "bloom", "n_layer": 2})", LayerEncoding::alibi},
           Case{R"({"model_type": "mpt", "n_layers": 2})", LayerEncoding::alibi},
           Case{R"({"model_type": "t5", "num_layers": 2})", LayerEncoding::t5_bias},
           Case{R"({"model_type": "gpt2", "n_layer": 2})", LayerEncoding::learned},
           Case{R"({"model_type": "opt", "num_hidden_layers": 2})", LayerEncoding::learned},
           Case{R"({"model_type": "bert", "num_hidden_layers": 2})", LayerEncoding::learned},
           Case{R"({"model_type": "marian", "encoder_layers": 2})", LayerEncoding::sinusoidal},
           Case{R"({"model_type": "distilbert", "n_layers": 2, "sinusoidal_pos_embds": true})",
                LayerEncoding::sinusoidal},
       }) {
    SCOPED_TRACE(config);
    const ModelSpec model = resolved(config);
    EXPECT_TRUE(model.rotary.empty());
    ASSERT_EQ(model.layers.size(), 2U);
    EXPECT_EQ(model.layers[1].encoding, encoding);
    EXPECT_TRUE(model.warnings.empty());
  }
  malformed(R"({"model_type": "bloom"})", {"n_layer must be given"});
}

TEST(Encodings, FalconRotatesUnlessItsConfigSaysAlibi) {
  const ModelSpec rotary = resolved(model_with("falcon", R"("alibi": false)"));
  EXPECT_EQ(layers_of(rotary), "R0 R0 R0 R0");
  EXPECT_EQ(rotary.rotary.front().spec.pairing.get(), Pairing::half);
  const ModelSpec alibi = resolved(model_with("falcon", R"("alibi": true)"));
  EXPECT_EQ(layers_of(alibi), "a a a a");
  EXPECT_TRUE(alibi.rotary.empty());
  malformed(model_with("falcon", R"("alibi": 1)"), {"alibi", "true or false"});
}

TEST(Encodings, EsmRotatesIfItsEncodingTypeIsRotary) {
  EXPECT_EQ(layers_of(resolved(model_with("esm", R"("position_embedding_type": "rotary")"))),
            "R0 R0 R0 R0");
  EXPECT_EQ(layers_of(resolved(model_with("esm"))), "l l l l");
  not_supported(model_with("esm", R"("position_embedding_type": "relative_key")"),
                {"position_embedding_type", "rotary or absolute", "relative_key"});
  not_supported(model_with("bert", R"("position_embedding_type": "relative_key")"),
                {"position_embedding_type", "absolute"});
}

// With attn_config the original code selects encodings that Transformers does not have.
TEST(Encodings, MptWithoutAlibiIsRefused) {
  not_supported(model_with("mpt", R"("attn_config": {"alibi": false})"),
                {"attn_config.alibi", "false"});
  EXPECT_EQ(layers_of(resolved(model_with("mpt", R"("attn_config": {"alibi": true})"))), "a a a a");
}

// The 7B model rotates and the 13B model does not, but no key says so.
TEST(Encodings, BaichuanRotatesOnlyAt4096Features) {
  const auto config = [](std::string_view hidden_size, std::string_view heads) {
    return R"({"model_type": "baichuan", "num_hidden_layers": 1, "hidden_size": )" +
           std::string(hidden_size) + R"(, "num_attention_heads": )" + std::string(heads) + "}";
  };
  const ModelSpec small = resolved(config("4096", "32"));
  EXPECT_EQ(layers_of(small), "R0");
  EXPECT_EQ(small.rotary.front().spec.head_dim, 128);
  EXPECT_TRUE(warns(small, "no key of a Baichuan config"));
  EXPECT_EQ(layers_of(resolved(config("5120", "40"))), "a");
  not_supported(config("1024", "16"), {"4096", "5120", "got 1024"});
}

}  // namespace
}  // namespace rotary
