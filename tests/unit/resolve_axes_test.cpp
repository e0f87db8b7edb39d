// SPDX-License-Identifier: Apache-2.0
// Configs with several position axes: mrope_section lists, vision towers and diffusion
// transformers. tests/golden/rope_index_golden_test.cpp compares their rows with other programs'.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"
#include "support/refusals.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::malformed;
using test::model_with;
using test::not_supported;
using test::resolved;
using test::warns;
using Counts = std::vector<std::int64_t>;

std::string sections(std::string_view model_type, std::string_view list,
                     std::string_view more = {}) {
  return model_with(model_type, R"("rope_parameters": {"rope_type": "default", "mrope_section": )" +
                                    std::string(list) + std::string(more) + "}");
}

const std::optional<Axes>& axes_of(const ModelSpec& model) {
  return model.rotary.front().spec.axes;
}

Axes axes(std::string_view config, const ResolveOptions& options = {}) {
  return axes_of(resolved(config, options)).value();
}

TEST(Sections, BecomeAxesInTheFamilysOrder) {
  EXPECT_EQ(axes(sections("qwen2_5_vl_text", "[8, 12, 12]")).pairs, (Counts{8, 12, 12}));
  EXPECT_EQ(axes(sections("qwen2_5_vl_text", "[8, 12, 12]")).arrangement, AxisArrangement::blocks);
  const Axes in_turn = axes(sections("qwen3_vl_text", "[12, 10, 10]"));
  EXPECT_EQ(in_turn.arrangement, AxisArrangement::interleaved);
  EXPECT_EQ(in_turn.exponents.get(), AxisExponents::shared);
  const Axes ernie = axes(sections("ernie4_5_vl_moe_text", "[12, 12, 8]"));
  EXPECT_EQ(ernie.pairs, (Counts{8, 12, 12}));
  EXPECT_EQ(ernie.order, (Counts{1, 2, 0}));
}

TEST(Sections, MustAddUpToThePairs) {
  const auto config = [](std::string_view list) { return sections("qwen3_vl_text", list); };
  malformed(config("[24, 20, 20]"), {"mrope_section", "32", "got 64"});
  malformed(config("[12, 10.5, 9.5]"), {"mrope_section", "10.5"});
  malformed(config("[-1, 20, 13]"), {"mrope_section", "-1"});
  malformed(config("[32, 0, 0]"), {"mrope_section", ">= 1", "got 0"});
  malformed(config("[1e300, 20, 13]"), {"mrope_section", "1e+300"});
  malformed(config("[16, 16]"), {"mrope_section", "3 entries", "got 2"});
  malformed(config("[8, 8, 8, 8]"), {"mrope_section", "3 entries", "got 4"});
  malformed(config("3"), {"mrope_section", "array of numbers"});
  malformed(config(R"(["a"])"), {"mrope_section"});
  // When pairs are dealt in turn, an axis other than the first gets at most every third pair.
  malformed(config("[4, 24, 4]"), {"interleaved deals, 17 for axis 0", "got 4"});
}

TEST(Sections, DefaultToThoseOfTheClass) {
  const ModelSpec model = resolved(
      R"({"model_type": "qwen3_vl_text", "hidden_size": 256, "num_attention_heads": 2,
          "head_dim": 128, "num_hidden_layers": 2})");
  EXPECT_EQ(axes_of(model).value().pairs, (Counts{24, 20, 20}));
  EXPECT_TRUE(model.warnings.empty());
  // Classes that deal pairs in turn accept any number of pairs. Classes with blocks do not.
  EXPECT_EQ(axes(model_with("qwen3_vl_text")).pairs, (Counts{11, 11, 10}));
  const ModelSpec other = resolved(model_with("qwen2_vl_text"));
  EXPECT_FALSE(axes_of(other));
  EXPECT_TRUE(warns(other, "text alone"));
}

TEST(Sections, AContradictingKeyIsIgnoredWithAWarning) {
  const ModelSpec model =
      resolved(sections("qwen3_vl_text", "[12, 10, 10]", R"(, "mrope_interleaved": false)"));
  EXPECT_TRUE(warns(model, "mrope_interleaved false is ignored"));
  EXPECT_EQ(axes_of(model).value().arrangement, AxisArrangement::interleaved);
  malformed(sections("qwen3_vl_text", "[12, 10, 10]", R"(, "mrope_interleaved": 1)"),
            {"mrope_interleaved"});
}

TEST(Sections, FollowTheConfigForAnUnknownFamily) {
  const ResolveOptions asked{.pairing = Pairing::half};
  const auto arrangement = [&](std::string_view more) {
    const auto members = R"(, "rope_theta": 10000)" + std::string(more);
    return axes(sections("frontier", "[12, 10, 10]", members), asked).arrangement;
  };
  EXPECT_EQ(arrangement(""), AxisArrangement::blocks);
  EXPECT_EQ(arrangement(R"(, "mrope_interleaved": true)"), AxisArrangement::interleaved);
}

// YaRN's frequencies do not depend on the axes of the pairs.
TEST(Sections, DoNotChangeScaledFrequencies) {
  constexpr std::string_view yarn = R"("rope_scaling": {"rope_type": "yarn", "factor": 4,
      "original_max_position_embeddings": 4096)";
  const auto plain = model_with("qwen2", std::string(yarn) + "}");
  const auto with_axes =
      model_with("qwen2_vl_text", std::string(yarn) + R"(, "mrope_section": [8, 12, 12]})");
  RotarySpec one = test::resolved_rotary(plain);
  RotarySpec three = test::resolved_rotary(with_axes);
  ASSERT_TRUE(three.axes);
  one.base = three.base;
  EXPECT_EQ(test::value_of(make_frequencies(one)).inv_freq,
            test::value_of(make_frequencies(three)).inv_freq);
}

TEST(Sections, AreDroppedWithAWarningForGgml) {
  const ModelSpec model =
      resolved(sections("qwen2_5_vl_text", "[8, 12, 12]"), {.numerics = Numerics::ggml});
  EXPECT_FALSE(axes_of(model));
  EXPECT_TRUE(warns(model, "ggml"));
}

std::string with_tower(std::string_view tower) {
  return model_with("qwen2_vl", R"("vision_config": )" + std::string(tower));
}

constexpr ResolveOptions vision{.part = ModelPart::vision};
constexpr std::string_view small_tower = R"("depth": 3, "embed_dim": 64, "num_heads": 2)";

TEST(Parts, ATowerIsReadFromItsOwnConfig) {
  const ModelSpec model = resolved(with_tower(test::json_object(small_tower)), vision);
  EXPECT_EQ(model.config_part, "vision_config");
  EXPECT_EQ(model.model_type, "qwen2_vl_vision");
  EXPECT_EQ(test::layers_of(model), "R0 R0 R0");
  EXPECT_EQ(axes_of(model).value().pairs, (Counts{8, 8}));
  EXPECT_EQ(axes_of(model).value().exponents.get(), AxisExponents::own);
  // Missing sizes come from the tower's class, not from hidden_size.
  const ModelSpec bare =
      resolved(with_tower(R"({"hidden_size": 1536, "model_type": "qwen2_vl"})"), vision);
  EXPECT_EQ(bare.layers.size(), 32U);
  EXPECT_EQ(bare.rotary.front().spec.head_dim, 80);
}

TEST(Parts, ATowerAcceptsOnlyTheRulesAxialAndDefault) {
  for (const std::string_view type : {"axial", "default"}) {
    const auto rope = std::string(small_tower) + R"(, "rope_parameters": {"rope_theta": 77.0,
        "rope_type": ")" +
                      std::string(type) + "\"}";
    EXPECT_EQ(resolved(with_tower(test::json_object(rope)), vision).rotary.front().spec.base.get(),
              77.0);
  }
  const auto yarn = std::string(small_tower) + R"(, "rope_parameters": {"rope_type": "yarn"})";
  test::refused(resolve(with_tower(test::json_object(yarn)), vision),
                {"axial or default", "'yarn'"}, ErrorCode::unsupported);
  not_supported(model_with("llama", R"("rope_scaling": {"rope_type": "axial"})"), {"axial"});
}

// A params.json of Mistral with a vision encoder.
constexpr std::string_view pixtral_params =
    R"({"dim": 64, "n_heads": 4, "n_layers": 2, "rope_theta": 1e9, "vision_encoder":
       {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "image_size": 1540,
        "patch_size": 14, "rope_theta": 1e4}})";

TEST(Parts, AreReadFromAParamsJson) {
  const auto parts = test::value_of(model_parts(pixtral_params));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].config_part, "vision_encoder");
  EXPECT_FALSE(axes_of(resolved(pixtral_params)).has_value());
  const ModelSpec model = resolved(pixtral_params, vision);
  EXPECT_EQ(model.layers.size(), 3U);
  const RotarySpec& spec = model.rotary.front().spec;
  EXPECT_EQ(spec.head_dim, 16);
  EXPECT_EQ(spec.pairing, Pairing::interleaved);
  EXPECT_EQ(spec.base.get(), 1e4);
  // The class uses freqs[::2] for rows and freqs[1::2] for columns.
  const Frequencies made = test::value_of(make_frequencies(spec));
  EXPECT_EQ(made.axes.of_pair, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_NEAR(made.inv_freq[1], std::pow(1e4, -2.0 / 8), 1e-16);
  EXPECT_NEAR(made.inv_freq[5], std::pow(1e4, -3.0 / 8), 1e-16);
  test::refused(resolve(R"({"dim": 64, "n_heads": 4, "n_layers": 2, "rope_theta": 1e6})", vision),
                {"text", "got vision"});
}

// torch.cat([x_cis.unsqueeze(-1), y_cis.unsqueeze(-1)], -1) in the class alternates the axes.
TEST(Parts, MoonVitAlternatesColumnsAndRows) {
  const ModelSpec of_vl = resolved(
      R"({"model_type": "kimi_vl", "text_config": {"model_type": "deepseek_v3"}, "vision_config":
          {"model_type": "moonvit", "hidden_size": 32, "num_attention_heads": 4,
           "num_hidden_layers": 2}})",
      vision);
  const ModelSpec of_k3 = resolved(
      R"({"model_type": "kimi_k3", "text_config": {"model_type": "kimi_linear"}, "vision_config":
          {"vt_hidden_size": 20, "qkv_hidden_size": 32, "vt_num_attention_heads": 4,
           "vt_num_hidden_layers": 2}})",
      vision);
  for (const ModelSpec& model : {of_vl, of_k3}) {
    const RotarySpec& spec = model.rotary.front().spec;
    EXPECT_EQ(spec.head_dim, 8) << model.model_type;
    EXPECT_EQ(spec.pairing, Pairing::interleaved);
    const Frequencies made = test::value_of(make_frequencies(spec));
    EXPECT_EQ(made.axes.of_pair, (std::vector<std::int32_t>{1, 0, 1, 0}));
    EXPECT_EQ(made.inv_freq, (std::vector<double>{1, 1, 0.01, 0.01}));
  }
  const ModelSpec learned = resolved(
      R"({"model_type": "internvl_chat", "llm_config": {"model_type": "internlm2"},
          "vision_config": {"model_type": "intern_vit_6b", "hidden_size": 64,
          "num_attention_heads": 4, "num_hidden_layers": 2}})",
      vision);
  EXPECT_EQ(learned.layers.front().encoding, LayerEncoding::learned);
}

TEST(Parts, InvalidTowersAreRefused) {
  const auto refused = [](std::string_view members, ErrorCode code, test::Parts parts) {
    test::refused(resolve(with_tower(test::json_object(members)), vision), parts, code);
  };
  refused(R"("embed_dim": 60, "num_heads": 2, "depth": 1)", ErrorCode::malformed_input,
          {"multiple of 4", "got 30"});
  refused(R"("embed_dim": -64, "num_heads": 2, "depth": 1)", ErrorCode::malformed_input,
          {"embed_dim"});
  refused(R"("embed_dim": 64, "num_heads": "2")", ErrorCode::malformed_input, {"num_heads"});
  refused(R"("embed_dim": 64, "num_heads": 2, "depth": 0)", ErrorCode::malformed_input, {"depth"});
  refused(R"("model_type": "mystery")", ErrorCode::unsupported, {"'mystery'"});
  refused(R"("model_type": 3)", ErrorCode::malformed_input, {"model_type"});
}

TEST(Parts, MissingPartsAreRefused) {
  const auto refused = [](const std::string& config, const ResolveOptions& options,
                          test::Parts parts) { test::refused(resolve(config, options), parts); };
  refused(model_with("llama"), vision, {"text", "got vision", "vision_config"});
  refused(with_tower("null"), vision, {"got vision"});
  refused(with_tower("[]"), vision, {"got vision"});
  refused(with_tower("{}"), {.part = ModelPart::audio}, {"text, vision", "got audio"});
  refused(with_tower("{}"), {.part = static_cast<ModelPart>(7)}, {"part"});
}

// Nobody knows how an unknown tower deals pairs to axes.
TEST(Parts, APairingIsNotEnoughForAnUnknownTower) {
  const ResolveOptions asked{.pairing = Pairing::half, .part = ModelPart::vision};
  test::refused(resolve(with_tower(R"({"model_type": "mystery", "head_dim": 64})"), asked),
                {"'mystery'", "axes of your own"}, ErrorCode::unsupported);
}

TEST(Parts, AreListedWithTheirConfigParts) {
  const auto parts = test::value_of(model_parts(
      R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "qwen2_5_omni_thinker",
          "text_config": {"model_type": "qwen2_5_omni_text"}, "vision_config": {},
          "audio_config": {"model_type": "qwen2_5_omni_audio_encoder"}}})"));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].config_part, "thinker_config.text_config");
  EXPECT_EQ(parts[1].part, ModelPart::vision);
  EXPECT_EQ(parts[1].model_type, "qwen2_5_omni_vision_encoder");
  EXPECT_EQ(parts[2].config_part, "thinker_config.audio_config");
  const auto alone = test::value_of(model_parts(R"({"model_type": "pixtral"})"));
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone.front().part, ModelPart::vision);
  test::refused(model_parts("[]"), {"object"}, ErrorCode::malformed_input);
}

TEST(Parts, ATowersBackboneIsRead) {
  const ModelSpec model = resolved(R"({"model_type": "sam3", "vision_config": {"backbone_config":
      {"model_type": "sam3_vit_model", "hidden_size": 64, "num_attention_heads": 2}}})",
                                   vision);
  EXPECT_EQ(model.config_part, "vision_config.backbone_config");
  EXPECT_EQ(model.rotary.front().spec.pairing, Pairing::interleaved);
}

std::string flux(std::string_view dims, std::string_view more = {}) {
  return R"({"_class_name": "FluxTransformer2DModel", "attention_head_dim": 32, "num_layers": 2,
             "num_single_layers": 3, "axes_dims_rope": )" +
         std::string(dims) + std::string(more) + "}";
}

TEST(Diffusion, AxesAndLayersAreRead) {
  const ModelSpec model = resolved(flux("[8, 12, 12]"));
  EXPECT_EQ(model.model_type, "FluxTransformer2DModel");
  EXPECT_EQ(model.layers.size(), 5U);
  EXPECT_EQ(axes_of(model).value().pairs, (Counts{4, 6, 6}));
  const Axes wan = axes(R"({"_class_name": "WanTransformer3DModel", "attention_head_dim": 128,
                            "rope_max_seq_len": 1024, "num_layers": 2})");
  EXPECT_EQ(wan.pairs, (Counts{22, 21, 21}));
}

TEST(Diffusion, InvalidListsAreRefused) {
  malformed(flux("[8, 12, 10]"), {"axes_dims_rope", "32", "got 30"});
  malformed(flux("[9, 11, 12]"), {"axes_dims_rope", "even", "got 9"});
  malformed(flux("[-8, 28, 12]"), {"axes_dims_rope", "got -8"});
  malformed(flux("[1e300, 12, 12]"), {"axes_dims_rope"});
  malformed(flux("8"), {"axes_dims_rope", "array"});
  malformed(flux("[]"), {"axes_dims_rope"});
}

TEST(Diffusion, UnsupportedModelsAreRefusedByName) {
  not_supported(R"({"_class_name": "MochiTransformer3DModel"})",
                {"'MochiTransformer3DModel'", "pos_frequencies"});
  not_supported(R"({"_class_name": "FluxPipeline"})", {"transformer/config.json"});
  not_supported(R"({"model_type": "vjepa2"})", {"'vjepa2'", "no rotation"});
  not_supported(R"({"model_type": "efficientloftr"})", {"'efficientloftr'"});
  test::refused(resolve(R"({"model_type": "vjepa2"})", {.pairing = Pairing::half}), {"no rotation"},
                ErrorCode::unsupported);
}

TEST(Towers, Dinov3ScalesCoordinatesByTwoPi) {
  const Axes centres = axes(model_with("dinov3_vit"));
  EXPECT_EQ(centres.scales, (std::vector<double>(2, 2 * std::numbers::pi)));
}

}  // namespace
}  // namespace rotary
