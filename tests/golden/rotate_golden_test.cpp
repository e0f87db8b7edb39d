// SPDX-License-Identifier: Apache-2.0
// Rotates q and k by a model's config, by positions on several axes, and by xPos. Compares with
// float32 results of other programs, whose float32 angle limits the agreement: at position 131071
// it is off by more than 1e-3.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/rotary.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

struct Golden {
  std::string name;
  std::string model_type;
};

class RotateGolden : public testing::TestWithParam<Golden> {};

// GPT-J's file lists config values without a config.
nlohmann::json config_of(const nlohmann::json& file) {
  if (file.contains("config")) return file.at("config");
  const auto& shape = file.at("q").at("shape");  // [B, T, H, D]
  return {{"n_head", shape.at(2)},
          {"n_embd", shape.at(2).get<int>() * shape.at(3).get<int>()},
          {"rotary_dim", file.at("rotary_dim")}};
}

void expect_outputs(const nlohmann::json& file, const RotarySpec& spec) {
  const auto positions = file.at("positions").get<std::vector<std::int64_t>>();
  test::expect_rotated_exactly(file, spec, positions_of(std::span(positions)));
}

TEST_P(RotateGolden, AgreesOnQAndK) {
  const auto file = test::read_golden(GetParam().name);
  expect_outputs(file, test::resolved_spec(config_of(file), GetParam().model_type));
}

// NanoChat's rotate_half is cat(x2, -x1).
TEST(RotateGoldenSpecs, NanoChatRotatesTheOtherWay) {
  expect_outputs(
      test::read_golden("nanochat_negative_rotation"),
      {.head_dim = 64, .base = 10000.0, .pairing = Pairing::half, .sense = Sense::negative});
}

// DeepSeek-V2-Lite rotates 64 features (q_pe, k_pe). Both mscales are equal, so A = 1.
RotarySpec deepseek(Pairing pairing) {
  return {
      .head_dim = 64,
      .base = 10000.0,
      .pairing = pairing,
      .scaling = YarnScaling{
          .factor = 40, .original_context_tokens = 4096, .mscale = 0.707, .mscale_all_dim = 0.707}};
}

TEST(RotateGoldenSpecs, DeepseekV2KeepsTheFeatureOrder) {
  expect_outputs(test::read_golden("deepseek_v2_complex_interleaved"),
                 deepseek(Pairing::interleaved));
}

// DeepSeek-V3 rotates the same pairs by the same angles, then moves the even features to the front.
TEST(RotateGoldenSpecs, DeepseekV3PutsTheEvenFeaturesFirst) {
  auto file = test::read_golden("deepseek_v2_complex_interleaved");
  for (const char* const name : {"q_out", "k_out"}) {
    const auto in_order = file.at(name).at("data");
    for (std::size_t i = 0; i < in_order.size(); ++i)
      file[name]["data"][i / 64 * 64 + i % 2 * 32 + i % 64 / 2] = in_order[i];
  }
  expect_outputs(file, deepseek(Pairing::interleaved_to_half));
}

INSTANTIATE_TEST_SUITE_P(Transformers, RotateGolden,
                         testing::Values(Golden{"llama_half_split", "llama"},
                                         Golden{"llama_linear4", "llama"},
                                         Golden{"llama31_scaled", "llama"},
                                         Golden{"llama_yarn4_mscale", "llama"},
                                         Golden{"gpt_neox_partial25", "gpt_neox"},
                                         Golden{"gptj_interleaved_partial", "gptj"}),
                         [](const auto& golden) { return golden.param.name; });

RotarySpec spec_of(std::int64_t head_dim, double base, Axes axes) {
  return {.head_dim = head_dim, .base = base, .pairing = Pairing::half, .axes = std::move(axes)};
}

// The tokens are text, then patches, some at distant positions.
TEST(AxesGolden, Qwen2VlTextAgrees) {
  const auto file = test::read_golden("qwen2_vl_mrope");
  const auto ids = test::flat<std::int64_t>(file.at("positions_thw"));
  test::expect_rotated_exactly(
      file, spec_of(128, 1e6, {.pairs = {16, 24, 24}, .exponents = AxisExponents::shared}),
      positions_of(ids, 1, 3));
}

// Patches in merge-block order, [tokens][2].
TEST(AxesGolden, Qwen2VlVisionTowerAgrees) {
  const auto file = test::read_golden("qwen2_vl_vision_2d");
  const auto ids = test::flat<std::int32_t>(file.at("position_ids_hw"));
  const TokenArray<std::int32_t> positions{.data = ids.data(),
                                           .tokens = static_cast<std::int64_t>(ids.size() / 2),
                                           .token_stride = 2,
                                           .axes = 2,
                                           .axis_stride = 1};
  test::expect_rotated_exactly(
      file, spec_of(32, 1e4, {.pairs = {8, 8}, .exponents = AxisExponents::own}), positions);
}

TEST(AxesGolden, PixtralVisionTowerAgrees) {
  const auto file = test::read_golden("pixtral_vision_2d");
  const std::int64_t rows = file.at("patch_grid_hw").at(0);
  const std::int64_t columns = file.at("patch_grid_hw").at(1);
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < rows * columns; ++t) ids.push_back(t / columns);
  for (std::int64_t t = 0; t < rows * columns; ++t) ids.push_back(t % columns);
  test::expect_rotated_exactly(
      file, spec_of(32, 1e4, {.pairs = {8, 8}, .exponents = AxisExponents::in_turn}),
      positions_of(ids, 1, 2));
}

// Compares xPos with torchscale in float32: 6 tokens from position 0, then the last token alone as
// a decode step with offset 5. torchscale centers its factors at ceil((tokens + offset) / 2), which
// is 3 both times; angles start at 0. torchscale's cos, sin and factor are each off by about 2^-23.
// Results are off by at most 8 * 2^-23 * 4 < 1e-5, since activations are below 4.
void expect_xpos(const nlohmann::json& src, const nlohmann::json& wanted, Role role,
                 std::int64_t first_position) {
  const auto& shape = src.at("shape");  // [batch * heads, tokens, features]
  const auto frequencies = test::value_of(make_frequencies({.head_dim = shape.at(2),
                                                            .base = 10000.0,
                                                            .pairing = Pairing::interleaved,
                                                            .xpos = Xpos{.center = 3}}));
  const Rotations rotations = test::value_of(make_rotations(
      frequencies, ConsecutivePositions{.first = first_position, .tokens = shape.at(1)},
      {.role = role}));
  const nlohmann::json file = {{"layout", "B,H,T,D"}, {"q", src}, {"q_out", wanted}};
  test::expect_rotated(file, file, rotations, DType::f32,
                       [](const test::HeadIndex&, std::size_t, double) { return 1e-5; });
}

TEST(XposGolden, QueriesAndKeysAgree) {
  const auto file = test::read_golden("xpos_torchscale");
  expect_xpos(file.at("q"), file.at("q_out"), Role::query, 0);
  expect_xpos(file.at("k"), file.at("k_out"), Role::key, 0);
}

TEST(XposGolden, ADecodeStepAgrees) {
  const auto file = test::read_golden("xpos_torchscale");
  const auto& data = file.at("q").at("data");
  const std::size_t features = file.at("q").at("shape").at(2);
  nlohmann::json last = {{"shape", file.at("q_step_offset5").at("shape")}};
  for (std::size_t i = 0; i < data.size(); ++i)
    if (i / features % 6 == 5) last["data"].push_back(data[i]);
  expect_xpos(last, file.at("q_step_offset5"), Role::query, 5);
}

}  // namespace
}  // namespace rotary
