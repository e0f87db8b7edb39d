// SPDX-License-Identifier: Apache-2.0
// Published configs: missing values, authors' own names, keys that select kernels.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::model_with;
using test::not_supported;
using test::resolved;
using test::resolved_rotary;
using test::warns;

Origin origin_of(const std::vector<ValueSource>& sources, std::string_view value) {
  for (const ValueSource& each : sources) {
    if (each.value == value) return each.origin;
  }
  throw std::runtime_error("no source of " + std::string(value));
}

// A config that lacks sizes, and the resulting values with class defaults of Transformers 5.23.
struct Sparse {
  std::string_view config;
  std::size_t layers;
  std::int64_t head_dim;
  std::int64_t trained_context;
  double base;
};

TEST(Published, MissingSizesComeFromTheClass) {
  for (const Sparse& each :
       {Sparse{R"({"model_type": "llava", "text_config": {"model_type": "llama"}})", 32, 128, 2048,
               10000},
        Sparse{R"({"model_type": "video_llava", "text_config": {}})", 32, 128, 2048, 10000},
        Sparse{R"({"model_type": "qwen2_audio", "text_config": {"model_type": "qwen2"}})", 32, 128,
               32768, 10000},
        Sparse{R"({"model_type": "idefics2", "text_config": {"max_position_embeddings": 4096}})",
               32, 128, 4096, 10000},
        Sparse{R"({"model_type": "paligemma", "text_config": {"num_hidden_layers": 18}})", 18, 256,
               8192, 10000},
        Sparse{R"({"model_type": "llava", "text_config": {"model_type": "qwen2",
                      "hidden_size": 2048}})",
               32, 64, 32768, 10000},
        // Voxtral's class has other defaults for its Llama.
        Sparse{R"({"model_type": "voxtral", "text_config": {"model_type": "llama"}})", 30, 128,
               131072, 1e8},
        Sparse{R"({"model_type": "glmasr", "text_config": {"model_type": "llama"}})", 28, 128, 8192,
               10000},
        Sparse{R"({"model_type": "voxtral_realtime", "text_config": {}})", 26, 128, 131072, 1e6},
        Sparse{R"({"model_type": "molmo2", "text_config": {}})", 36, 128, 36864, 10000},
        Sparse{R"({"model_type": "muse_spark", "text_config": {}})", 62, 64, 1048576, 500000},
        Sparse{R"({"model_type": "multi_modality", "language_config": {"model_type": "llama",
                      "num_hidden_layers": 30, "max_position_embeddings": 16384}})",
               30, 128, 16384, 10000}}) {
    SCOPED_TRACE(each.config);
    const ModelSpec model = resolved(each.config);
    EXPECT_EQ(model.layers.size(), each.layers);
    EXPECT_EQ(model.rotary.at(0).spec.head_dim, each.head_dim);
    EXPECT_EQ(model.rotary.at(0).trained_context_tokens, each.trained_context);
    EXPECT_EQ(model.rotary.at(0).spec.base.get(), each.base);
    EXPECT_EQ(origin_of(model.rotary.at(0).sources, "head_dim"), Origin::class_default);
  }
}

TEST(Published, MissingSizesAreMarkedAsClassDefaults) {
  const ModelSpec model = resolved(R"({"model_type": "llava", "text_config": {}})");
  EXPECT_EQ(origin_of(model.sources, "layers"), Origin::class_default);
  EXPECT_EQ(origin_of(model.rotary.at(0).sources, "trained_context_tokens"), Origin::class_default);
}

TEST(Published, APlainConfigMustStateItsSizes) {
  test::malformed(R"({"model_type": "qwen2"})", {"hidden_size", "must be given"});
}

TEST(Published, PhisKernelKeysAreAccepted) {
  EXPECT_EQ(resolved_rotary(model_with("phi-msft", R"("rotary_dim": 32, "flash_rotary": false,
                                       "flash_attn": true, "fused_dense": false)"))
                .rotary_dim,
            32);
  EXPECT_TRUE(resolve(model_with("phi", R"("flash_rotary": true)")));
  not_supported(model_with("phi", R"("flash_rotary": 2)"), {"flash_rotary"});
}

// DeepSeek-OCR and DeepSeek-VL2-tiny have Llama's attention, with pairing half.
TEST(Published, DeepSeekOcrHasNoLatentAttention) {
  const ModelSpec model = resolved(R"({"model_type": "deepseek_vl_v2", "language_config": {
      "model_type": "deepseek_v2", "hidden_size": 1280, "num_attention_heads": 10,
      "num_hidden_layers": 12, "max_position_embeddings": 8192, "use_mla": false,
      "kv_lora_rank": null, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0}})");
  EXPECT_EQ(model.rotary.at(0).spec.head_dim, 128);
  EXPECT_EQ(model.rotary.at(0).spec.pairing, Pairing::half);
  EXPECT_EQ(model.rotary.at(0).nope_head_dim, 0);
  EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
}

TEST(Published, AContradictingUseMlaIsRefused) {
  not_supported(model_with("deepseek_v2", R"("use_mla": false, "qk_rope_head_dim": 64)"),
                {"qk_rope_head_dim must be 0", "use_mla is false", "got 64"});
  not_supported(model_with("deepseek_v3", R"("use_mla": false)"),
                {"use_mla must be true", "deepseek_v3", "got false"});
  not_supported(model_with("llama", R"("use_mla": true)"),
                {"use_mla must be false", "llama", "got true"});
  EXPECT_TRUE(resolve(model_with("deepseek_v3", R"("use_mla": true)")));
  EXPECT_TRUE(resolve(model_with("llama", R"("use_mla": false)")));
}

// Transformers 5 nests the language model in vlm_config. Older files of ColPali do not.
TEST(Published, TheLanguageModelOfARetrieverIsFound) {
  const ModelSpec model = resolved(R"({"model_type": "colpali", "embedding_dim": 128,
      "vlm_config": {"model_type": "paligemma", "text_config": {"model_type": "gemma"}}})");
  EXPECT_EQ(model.config_part, "vlm_config.text_config");
  EXPECT_EQ(model.rotary.at(0).spec.head_dim, 256);
  EXPECT_EQ(
      resolved(R"({"model_type": "colpali", "text_config": {"model_type": "gemma"}})").config_part,
      "text_config");
  EXPECT_EQ(resolved(R"({"model_type": "colqwen2", "vlm_config": {"model_type": "qwen2_vl",
                         "text_config": {"model_type": "qwen2_vl_text"}}})")
                .rotary.at(0)
                .spec.head_dim,
            128);
}

TEST(Published, AuthorsOwnModelTypesAreRead) {
  struct Named {
    std::string_view name;
    Pairing pairing;
    std::optional<std::int64_t> rotary_dim;
  };
  for (const Named& each :
       {Named{"phi4mm", Pairing::half, 64}, Named{"Yi", Pairing::half, {}},
        Named{"stablelm_epoch", Pairing::half, 16}, Named{"llava_qwen", Pairing::half, {}},
        Named{"dots_ocr", Pairing::half, {}}, Named{"moss", Pairing::interleaved, 64},
        Named{"ernie4_5_moe_vl", Pairing::interleaved, {}}, Named{"mimo", Pairing::half, {}},
        Named{"sparsellama", Pairing::half, {}}, Named{"minimax_m3", Pairing::half, {}},
        Named{"deepseek_ref", Pairing::interleaved, 8}}) {
    SCOPED_TRACE(each.name);
    const ModelSpec model = resolved(model_with(each.name, R"("n_head": 2)"));
    EXPECT_EQ(model.model_type, each.name);
    EXPECT_EQ(model.rotary.at(0).spec.pairing, each.pairing);
    EXPECT_EQ(model.rotary.at(0).spec.rotary_dim.value_or(64), each.rotary_dim.value_or(64));
  }
}

TEST(Published, Exaone45DoesNotRotateItsFourthLayer) {
  const ModelSpec model = resolved(R"({"model_type": "exaone4_5", "text_config": {
      "model_type": "exaone4_5_text", "num_hidden_layers": 4, "sliding_window": 4096}})");
  EXPECT_EQ(test::layers_of(model), "R0 R0 R0 N");
}

// jina-embeddings-v3 has model_type xlm-roberta and its own code.
TEST(Published, JinaEmbeddings3Rotates) {
  const RotarySpec spec = resolved_rotary(model_with(
      "xlm-roberta", R"("position_embedding_type": "rotary", "rotary_emb_base": 20000.0)"));
  EXPECT_EQ(spec.base.get(), 20000);
  EXPECT_EQ(spec.pairing, Pairing::half);
  EXPECT_EQ(test::layers_of(resolved(model_with("xlm-roberta"))), "l l l l");
}

// MiniMax-M2's class computes the fraction from rotary_dim.
TEST(Published, MiniMaxM2ReadsRotaryDim) {
  const ModelSpec model = resolved(model_with("minimax_m2", R"("rotary_dim": 32)"));
  EXPECT_EQ(model.rotary.at(0).spec.rotary_dim, 32);
  EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
  const auto with_both = [](std::string_view rotary_dim) {
    return resolved(model_with(
        "minimax_m2", R"("partial_rotary_factor": 0.5, "rotary_dim": )" + std::string(rotary_dim)));
  };
  EXPECT_TRUE(with_both("32").warnings.empty());
  EXPECT_TRUE(warns(with_both("16"), "is given, too"));
  EXPECT_TRUE(warns(resolved(model_with("phi", R"("rotary_dim": 32)")), "does not read it"));
}

TEST(Published, MiniMaxText01ReadsRotaryDim) {
  const ModelSpec model = resolved(model_with(
      "minimax_text_01", R"("rotary_dim": 32, "rope_theta": 1e7, "attn_type_list": [0, 0, 0, 1])"));
  EXPECT_EQ(model.rotary.at(0).spec.rotary_dim, 32);
  EXPECT_EQ(test::layers_of(model), "- - - R0");
  EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
}

TEST(Published, LanguageModelsAreFoundUnderAuthorsKeys) {
  struct Around {
    std::string_view name;
    std::string_view key;
    std::string_view inner;
  };
  for (const auto& [name, key, inner] :
       {Around{"vibevoice", "decoder_config", "qwen2"}, Around{"vibevoice", "text_config", "qwen2"},
        Around{"bailingmm", "llm_config", "bailing_moe"}, Around{"llava_llama", "llm_cfg", "llama"},
        Around{"mixtral_multimodal", "text_config", "mixtral"},
        Around{"maira2", "text_config", "phi3"},
        Around{"locateanything", "text_config", "qwen2"}}) {
    SCOPED_TRACE(name);
    const std::string text = test::json_object(
        test::member("model_type", test::json_text(inner)) +
        R"(, "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2,
            "rope_theta": 5e5)");
    const ModelSpec model = resolved(test::json_object(
        test::member("model_type", test::json_text(name)) + ", " + test::member(key, text)));
    EXPECT_EQ(model.config_part, key);
    EXPECT_EQ(model.rotary.at(0).spec.head_dim, 128);
    EXPECT_EQ(model.rotary.at(0).spec.base.get(), 500000);
  }
  // LLaVA's authors write the keys of the language model at the top level.
  for (const std::string_view name : {"llava", "llava_llama"})
    EXPECT_EQ(resolved_rotary(model_with(name)).head_dim, 64);
}

// Llama-3.3-Nemotron-Super has layers without attention, or with a linear map in its place.
TEST(Published, NemotronNasHasLayersWithoutAttention) {
  constexpr std::string_view blocks = R"("block_configs": [
      {"attention": {"no_op": false, "n_heads_in_group": 8, "replace_with_linear": false}},
      {"attention": {"no_op": true, "n_heads_in_group": null}},
      {"attention": {"no_op": false, "replace_with_linear": true}}, {"attention": {}}])";
  EXPECT_EQ(test::layers_of(resolved(model_with("nemotron-nas", blocks))), "R0 - - R0");
  test::malformed(model_with("nemotron-nas", R"("block_configs": [{"ffn": {}}])"),
                  {"block_configs", "attention"});
}

TEST(Published, KimiK3DoesNotRotate) {
  EXPECT_EQ(test::layers_of(resolved(R"({"model_type": "kimi_k3", "text_config": {
                "model_type": "kimi_linear", "hidden_size": 1024, "num_attention_heads": 8,
                "num_hidden_layers": 3, "linear_attn_config": {"full_attn_layers": [3]}}})")),
            "- - N");
}

TEST(Published, Phi3SmallReadsItsOwnBase) {
  const RotarySpec spec = resolved_rotary(
      model_with("phi3small", R"("rope_embedding_base": 1000000, "rope_position_scale": 1.0)"));
  EXPECT_EQ(spec.base.get(), 1e6);
  EXPECT_EQ(spec.pairing, Pairing::half);
  not_supported(
      model_with("phi3small", R"("rope_embedding_base": 1000000, "rope_position_scale": 2.0)"),
      {"rope_position_scale"});
}

TEST(Published, AnUnknownWrapperIsReadWithAWarning) {
  const auto wrapped = [](std::string_view inner) {
    return R"({"model_type": "frontier_vl", "vision_config": {"hidden_size": 9}, )" +
           test::member("text_config", inner) + "}";
  };
  const ModelSpec model = resolved(wrapped(model_with("qwen3", R"("rope_theta": 5e6)")));
  EXPECT_EQ(model.model_type, "frontier_vl");
  EXPECT_EQ(model.config_part, "text_config");
  EXPECT_EQ(model.rotary.at(0).spec.base.get(), 5e6);
  EXPECT_TRUE(warns(model, "model_type frontier_vl is not known; text_config is read"));
  const std::string unknown = wrapped(model_with("frontier_text", R"("rope_theta": 5e6)"));
  not_supported(unknown, {"text_config.model_type", "got 'frontier_text'", "--pairing half"});
  EXPECT_EQ(resolved(unknown, {.pairing = Pairing::interleaved}).rotary.at(0).spec.pairing,
            Pairing::interleaved);
  not_supported(R"({"model_type": "frontier_vl", "head_dim": 64, "text_config": {}})",
                {"got 'frontier_vl'"});
}

TEST(Published, HfOlmoAndLladaKeysAreRead) {
  for (const std::string_view model_type : {"hf_olmo", "llada"}) {
    const auto with = [&](std::string_view rope) {
      return test::json_object(test::member("model_type", test::json_text(model_type)) +
                               R"(, "d_model": 4096, "n_heads": 32, "n_layers": 2,
          "max_sequence_length": 2048, "rope_full_precision": true, "rope": )" +
                               std::string(rope));
    };
    const ModelSpec model = resolved(with("true"));
    EXPECT_EQ(model.rotary.at(0).spec.head_dim, 128);
    EXPECT_EQ(model.rotary.at(0).spec.base.get(), 10000);
    EXPECT_EQ(model.rotary.at(0).trained_context_tokens, 2048);
    not_supported(with("false"), {"rope must be true"});
  }
}

// Ming's class gives time the last pairs. Height and width alternate over all other pairs.
TEST(Published, MingsVideoRopeGivesTimeTheLastPairs) {
  const auto axes_of = [](std::string_view dictionary) {
    return resolved_rotary(model_with("bailing_moe_v2", R"("rope_theta": 6e5,
        "partial_rotary_factor": 1.0, "rope_scaling": )" + std::string(dictionary)))
        .axes;
  };
  const Axes usual = axes_of(R"({"type": "video_rope", "factor": null})").value();
  EXPECT_EQ(usual.pairs, (std::vector<std::int64_t>{8, 12, 12}));
  EXPECT_EQ(usual.order, (std::vector<std::int64_t>{1, 2, 0}));
  EXPECT_EQ(usual.arrangement, AxisArrangement::interleaved_then_last);
  const Axes stated = axes_of(R"({"type": "video_rope", "mrope_section": [4, 10, 18]})").value();
  EXPECT_EQ(stated.pairs, (std::vector<std::int64_t>{4, 14, 14}));
  EXPECT_FALSE(axes_of("null"));
  not_supported(model_with("bailing_moe_v2", R"("rope_theta": 6e5, "rope_scaling": {
      "rope_type": "default", "mrope_section": [8, 12, 12]})"),
                {"mrope_section must be that of type video_rope"});
}

// Ling 2 and the first Ling share a model_type. Only Ling 2's configs state the rotated part.
TEST(Published, Ling2RotatesAPartOfTheHead) {
  const auto width_of = [](std::string_view keys) {
    const std::string members = R"("rope_theta": 6e5)" + std::string(keys);
    return resolved_rotary(model_with("bailing_moe", members)).rotary_dim.value_or(64);
  };
  EXPECT_EQ(width_of(""), 64);
  EXPECT_EQ(width_of(R"(, "partial_rotary_factor": 0.5)"), 32);
  EXPECT_EQ(width_of(R"(, "rotary_dim": 32)"), 32);
}

TEST(Published, NomicsScalingFactorIsDynamicNtk) {
  const std::string_view config = R"({"model_type": "nomic_bert", "n_embd": 768, "n_head": 12,
      "n_layer": 2, "n_positions": 8192, "rotary_scaling_factor": 2,
      "max_trained_positions": 2048})";
  const ModelSpec model = resolved(config);
  EXPECT_EQ(model.rotary.at(0).spec.scaling,
            Scaling(DynamicNtkScaling{.factor = 2, .original_context_tokens = 2048}));
  EXPECT_EQ(origin_of(model.rotary.at(0).sources, "factor"), Origin::stated);
  EXPECT_TRUE(warns(model, "Transformers does not read it"));
  test::malformed(model_with("nomic_bert", R"("rotary_scaling_factor": 2)"),
                  {"max_trained_positions must be given"});
}

}  // namespace
}  // namespace rotary
