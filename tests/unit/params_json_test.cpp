// SPDX-License-Identifier: Apache-2.0
// Tests the keys of Meta's and Mistral's params.json: sizes, base, scaling and temperatures.
#include <gtest/gtest.h>

#include <cmath>

#include "rotary/frequencies.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::json_object;
using test::malformed;
using test::not_supported;
using test::resolved;
using test::warns;

constexpr std::string_view sizes = R"("dim": 256, "n_heads": 4, "n_layers": 4, "norm_eps": 1e-5)";

std::string meta_with(std::string_view members) {
  return json_object(std::string(sizes) + R"(, "multiple_of": 256, )" + std::string(members));
}

std::string mistral_with(std::string_view members) {
  return json_object(std::string(sizes) + R"(, "head_dim": 128, "hidden_dim": 512, )" +
                     std::string(members));
}

const ModelRotary& only(const ModelSpec& model) {
  if (model.rotary.size() != 1) throw std::runtime_error("one rotary embedding expected");
  return model.rotary.front();
}

TEST(ParamsJson, MetasModelsRotateNeighboursInFloat32) {
  const ModelSpec model = resolved(meta_with(R"("rope_theta": 500000.0)"));
  const RotarySpec& spec = only(model).spec;
  EXPECT_EQ(spec.pairing.get(), Pairing::interleaved);
  EXPECT_EQ(spec.rounding, Rounding::result);
  EXPECT_EQ(spec.head_dim, 64);
  EXPECT_EQ(spec.base.get(), 500000);
  EXPECT_EQ(spec.scaling, Scaling(NoScaling{}));
  EXPECT_EQ(model.layers.size(), 4U);
  EXPECT_TRUE(model.warnings.empty());
}

TEST(ParamsJson, AnAbsentBaseIs10000WithAWarning) {
  const ModelSpec model = resolved(meta_with(R"("vocab_size": -1)"));
  EXPECT_EQ(only(model).spec.base.get(), 10000);
  EXPECT_TRUE(warns(model, "rope_theta is absent: 10000"));
}

// Llama 3.2's params.json does not state the factor 32 of its config.json. An override can.
TEST(ParamsJson, UseScaledRopeMeansLlama31sParameters) {
  const ModelSpec model = resolved(meta_with(R"("rope_theta": 5e5, "use_scaled_rope": true)"));
  EXPECT_EQ(only(model).spec.scaling, Scaling(Llama3Scaling{8, 1, 4, 8192}));
  EXPECT_TRUE(warns(model, "3.2"));
  const ModelSpec set = resolved(meta_with(R"("rope_theta": 5e5, "use_scaled_rope": true)"),
                                 {.overrides = {{"rope_scaling_factor", "32"}}});
  EXPECT_EQ(std::get<Llama3Scaling>(only(set).spec.scaling).factor, 32);
  EXPECT_TRUE(set.warnings.empty());
}

TEST(ParamsJson, EveryFourthLlama4LayerHasNoPositions) {
  const ModelSpec model = resolved(meta_with(
      R"("rope_theta": 5e5, "use_scaled_rope": true, "nope_layer_interval": 4, "moe_args": {},
         "attn_temperature_tuning": true)"));
  EXPECT_EQ(only(model).spec.scaling, Scaling(Llama3Scaling{16, 1, 1, 8192}));
  EXPECT_EQ(model.layers[2].encoding, LayerEncoding::rotary);
  EXPECT_EQ(model.layers[2].query_temperature, QueryTemperature(NoTemperature{}));
  EXPECT_EQ(model.layers[3].encoding, LayerEncoding::none);
  EXPECT_EQ(model.layers[3].query_temperature,
            QueryTemperature(StepTemperature{.scale = 0.1, .interval_tokens = 8192, .offset = 1}));
}

TEST(ParamsJson, MistralsYarnKeysAreRead) {
  constexpr std::string_view yarn =
      R"("rope_theta": 1e6, "max_position_embeddings": 262144,
         "yarn": {"factor": 16, "original_max_position_embeddings": 16384,
                  "beta": 30, "alpha": 2, "apply_scale": false},
         "llama_4_scaling": {"original_max_position_embeddings": 16384, "beta": 0.1})";
  const ModelSpec model = resolved(mistral_with(yarn));
  const ModelRotary& rotary = only(model);
  EXPECT_EQ(rotary.spec.head_dim, 128);
  EXPECT_EQ(rotary.trained_context_tokens, 262144);
  EXPECT_EQ(rotary.spec.scaling, Scaling(YarnScaling{.factor = 16,
                                                     .original_context_tokens = 16384,
                                                     .beta_fast = 30,
                                                     .beta_slow = 2,
                                                     .attention_factor = 1}));
  EXPECT_EQ(model.layers[3].query_temperature,
            QueryTemperature(StepTemperature{.scale = 0.1, .interval_tokens = 16384, .offset = 0}));
}

TEST(ParamsJson, MistralsYarnScalesCosAndSinUnlessAttentionIsLatent) {
  constexpr std::string_view yarn =
      R"("rope_theta": 1e6, "yarn": {"factor": 16, "original_max_position_embeddings": 16384})";
  const double growth = 0.1 * std::log(16.0) + 1;
  const ModelSpec plain = resolved(mistral_with(yarn));
  EXPECT_DOUBLE_EQ(test::value_of(make_frequencies(only(plain).spec)).attention_factor, growth);
  EXPECT_EQ(only(plain).softmax_factor, 1);
  const ModelSpec latent = resolved(
      mistral_with(std::string(yarn) + R"(, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64)"));
  EXPECT_EQ(only(latent).spec.head_dim, 64);
  EXPECT_EQ(only(latent).nope_head_dim, 128);
  EXPECT_EQ(test::value_of(make_frequencies(only(latent).spec)).attention_factor, 1);
  EXPECT_DOUBLE_EQ(only(latent).softmax_factor, growth * growth);
}

TEST(ParamsJson, MissingAndInconsistentSizesAreRefused) {
  not_supported(mistral_with(R"("sliding_window": 4096)"),
                {"rope_theta must be given", "10000", "1000000"});
  malformed(R"({"dim": 256, "n_heads": 4, "multiple_of": 1})", {"n_layers"});
  malformed(R"({"dim": 250, "n_heads": 4, "n_layers": 1, "multiple_of": 1})",
            {"dim must be a positive multiple of n_heads", "250"});
}

// Reading only some keys of a file would lose its scaling.
TEST(ParamsJson, RefusesKeysOfTheOtherMaker) {
  not_supported(meta_with(R"("rope_theta": 5e5, "yarn": {"factor": 8,
                   "original_max_position_embeddings": 8192})"),
                {"yarn is not a key of a params.json of Meta"});
  not_supported(mistral_with(R"("rope_theta": 1e6, "rope_scaling_factor": 32)"),
                {"rope_scaling_factor is not a key of a params.json of Mistral"});
  malformed(meta_with(R"("rope_theta": 5e5, "rope_scaling_factor": 32)"),
            {"use_scaled_rope must be true"});
  not_supported(
      R"({"dim": 7168, "n_heads": 128, "n_layers": 61, "inter_dim": 18432, "rope_theta": 10000,
          "qk_nope_head_dim": 128, "qk_rope_head_dim": 64})",
      {"qk_rope_head_dim"});
}

TEST(ParamsJson, RefusesKeysThatItDoesNotUnderstand) {
  not_supported(meta_with(R"("rope_scaling": {})"), {"rope_scaling"});
  not_supported(mistral_with(R"("rope_theta": 1e6, "yarn": {"factor": 2, "betta": 1,
                      "original_max_position_embeddings": 4096})"),
                {"yarn.betta", "did you mean beta"});
  malformed(mistral_with(R"("rope_theta": "1e6")"), {"rope_theta", "number"});
  malformed(mistral_with(R"("rope_theta": 1e6, "yarn": 4)"), {"yarn", "object"});
  malformed(meta_with(R"("rope_theta": 5e5, "nope_layer_interval": 0)"),
            {"nope_layer_interval", ">= 1"});
  malformed(meta_with(R"("rope_theta": 5e5, "nope_layer_interval": 2,
                                      "attn_temperature_tuning": true, "attn_scale": -1)"),
            {"scale of a query temperature", "-1"});
  malformed(mistral_with(R"("rope_theta": 1e6, "qk_rope_head_dim": 64)"),
            {"qk_nope_head_dim and qk_rope_head_dim"});
}

}  // namespace
}  // namespace rotary
