// SPDX-License-Identifier: Apache-2.0
// Rotates q and k by positions on several axes. Compares with Transformers' float32 results.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "reference/tensor.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Tensor;

RotarySpec spec_of(std::int64_t head_dim, double base, Axes axes) {
  return {.head_dim = head_dim, .base = base, .pairing = Pairing::half, .axes = std::move(axes)};
}

// 1e-4 up to position 1000; beyond it the error of a float32 angle, as in rotate_golden_test.cpp.
double tolerance_at(long double position, double inv_freq, double hypot) {
  const auto magnitude = static_cast<double>(std::abs(position));
  if (magnitude <= 1000) return 1e-4;
  return (0x1p-21 + 4 * 0x1p-23 * magnitude * inv_freq) * hypot;
}

void expect_turned(const Tensor& src, const Tensor& wanted, const Frequencies& frequencies,
                   const Positions& positions) {
  const Rotations rotations = test::rotations_of(frequencies, positions);
  Tensor got = src;
  test::require(rotate(got.view(), src.view(), rotations));
  test::record_bits(got.all_bits());
  const HeadWindow& window = frequencies.window;
  Extents heads = got.extents();
  heads.features = window.pairs();
  test::for_each_element(heads, [&](const test::HeadIndex& index, std::int64_t pair) {
    const auto at = static_cast<std::size_t>(pair);
    const auto [x, y] = test::features_read(window, Direction::forward, pair);
    const double tolerance =
        tolerance_at(reference::bounding_position(positions, index, frequencies.axes, at),
                     frequencies.inv_freq[at], std::hypot(src.at(index, x), src.at(index, y)));
    for (const std::int64_t f : {x, y}) {
      ASSERT_NEAR(got.at(index, f), wanted.at(index, f), tolerance)
          << "token " << index.token << " head " << index.head << " feature " << f;
    }
  });
}

void expect_outputs(const nlohmann::json& file, const RotarySpec& spec,
                    const Positions& positions) {
  const Frequencies frequencies = test::value_of(make_frequencies(spec));
  for (const std::string name : {"q", "k"}) {
    auto layout = file.at("layout").get<std::string>();
    auto src = file.at(name);
    auto out = file.at(name + "_out");
    if (layout == "T(packed),H,D") {  // reads it as a batch of 1
      layout = "B,T,H,D";
      for (auto* tensor : {&src, &out}) tensor->at("shape").insert(tensor->at("shape").begin(), 1);
    }
    expect_turned(test::read_tensor(src, layout), test::read_tensor(out, layout), frequencies,
                  positions);
  }
}

// The tokens are text, then patches, some at distant positions.
TEST(AxesGolden, Qwen2VlTextAgrees) {
  const auto file = test::read_golden("qwen2_vl_mrope");
  const auto ids = test::flat<std::int64_t>(file.at("positions_thw"));
  expect_outputs(file,
                 spec_of(128, 1e6, {.pairs = {16, 24, 24}, .exponents = AxisExponents::shared}),
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
  expect_outputs(file, spec_of(32, 1e4, {.pairs = {8, 8}, .exponents = AxisExponents::own}),
                 positions);
}

TEST(AxesGolden, PixtralVisionTowerAgrees) {
  const auto file = test::read_golden("pixtral_vision_2d");
  const std::int64_t rows = file.at("patch_grid_hw").at(0);
  const std::int64_t columns = file.at("patch_grid_hw").at(1);
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < rows * columns; ++t) ids.push_back(t / columns);
  for (std::int64_t t = 0; t < rows * columns; ++t) ids.push_back(t % columns);
  expect_outputs(file, spec_of(32, 1e4, {.pairs = {8, 8}, .exponents = AxisExponents::in_turn}),
                 positions_of(ids, 1, 2));
}

}  // namespace
}  // namespace rotary
