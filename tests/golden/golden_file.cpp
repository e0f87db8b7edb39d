// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/tensor.hpp"
#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary::test {
namespace {

// The distance from a number of a 16-bit dtype to the next; 0 for f32.
double ulp(DType dtype, double value) {
  if (dtype == DType::f32) return 0;
  const bool wide = dtype == DType::bf16;
  const int exponent = std::max(value == 0 ? -1000 : std::ilogb(value), wide ? -126 : -14);
  return std::ldexp(1.0, exponent - (wide ? 7 : 10));
}

// Reads {"shape", "dtype", "data"} in layout "B,H,T,D", "B,T,H,D" or "T(packed),H,D" as f32. The
// batch may be left out.
Tensor read_tensor(const nlohmann::json& tensor, std::string_view layout) {
  auto shape = tensor.at("shape").get<std::vector<std::int64_t>>();
  if (shape.size() == 3) shape.insert(shape.begin(), 1);
  const bool heads_first = layout.substr(0, 7) == "B,H,T,D";
  if (!heads_first && layout.substr(0, 7) != "B,T,H,D" && layout != "T(packed),H,D") {
    throw std::runtime_error("unknown layout " + std::string(layout));
  }
  Tensor result({.dtype = DType::f32,
                 .extents = {shape.at(0), shape.at(heads_first ? 2 : 1),
                             shape.at(heads_first ? 1 : 2), shape.at(3)},
                 .layout = heads_first ? Layout::bhtd : Layout::bthd});
  const auto data = tensor.at("data").get<std::vector<float>>();
  for_each_element(result.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const Extents& n = result.extents();
    const std::int64_t row = heads_first
                                 ? (index.batch * n.heads + index.head) * n.tokens + index.token
                                 : (index.batch * n.tokens + index.token) * n.heads + index.head;
    result.set(index, f, data.at(static_cast<std::size_t>(row * n.features + f)));
  });
  return result;
}

}  // namespace

nlohmann::json read_golden(std::string_view name) {
  const std::string path = source_path("tests/golden/").append(name).append(".json");
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return nlohmann::json::parse(file);
}

ModelSpec resolved_model(nlohmann::json config, std::string_view model_type) {
  config.emplace("model_type", model_type);
  return value_of(resolve(config.dump()));
}

RotarySpec resolved_spec(nlohmann::json config, std::string_view model_type, Numerics numerics) {
  config.emplace("model_type", model_type);
  return rotary_of(value_of(resolve(config.dump(), {.numerics = numerics})), "").spec;
}

const ModelRotary& rotary_of(const ModelSpec& model, std::string_view layer_type) {
  for (const ModelRotary& each : model.rotary)
    if (each.layer_type.value_or("") == layer_type) return each;
  if (model.rotary.size() == 1) return model.rotary.front();
  throw std::runtime_error("no rotary embedding for layers of type " + std::string(layer_type));
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], wanted[i] * tolerance) << "pair " << i;
}

Agreement expect_rotated(const nlohmann::json& file, const nlohmann::json& outputs,
                         const Rotations& rotations, DType dtype, const Tolerance& tolerance) {
  const auto layout = file.at("layout").get<std::string>();
  Agreement total;
  for (const auto& [in, out] : {std::pair{"q", "q_out"}, std::pair{"k", "k_out"},
                                std::pair{"v", "v_out_if_rotary_value"}}) {
    if (!outputs.contains(out)) continue;
    const Tensor src = rounded_to(dtype, read_tensor(file.at(in), layout));
    const Tensor wanted = rounded_to(dtype, read_tensor(outputs.at(out), layout));
    Tensor got = src;
    require(rotate(got.view(), got.view(), rotations));
    record_bits(got.all_bits());
    for_each_element(got.extents(), [&](const HeadIndex& at, std::int64_t f) {
      const bool equal = got.bits_at(at, f) == wanted.bits_at(at, f);
      EXPECT_TRUE(equal || turns(rotations.window(), f)) << "feature " << f;
      ++total.elements;
      total.equal += equal ? 1 : 0;
    });
    Extents pairs = got.extents();
    pairs.features = rotations.window().pairs();
    for_each_element(pairs, [&](const HeadIndex& at, std::int64_t pair) {
      const auto [x, y] = features_read(rotations.window(), Direction::forward, pair);
      const auto [first, second] = features_written(rotations.window(), Direction::forward, pair);
      const double allowed =
          tolerance(at, static_cast<std::size_t>(pair), std::hypot(src.at(at, x), src.at(at, y)));
      for (const std::int64_t f : {first, second})
        ASSERT_NEAR(got.at(at, f), wanted.at(at, f), allowed + ulp(dtype, wanted.at(at, f)))
            << to_string(dtype) << " token " << at.token << " head " << at.head << " feature " << f;
    });
  }
  return total;
}

// 1e-4 up to position 1000; beyond it the error of a float32 angle and frequency.
void expect_rotated_exactly(const nlohmann::json& file, const RotarySpec& spec,
                            const Positions& positions) {
  const Frequencies frequencies = value_of(make_frequencies(spec));
  const auto tolerance = [&](const HeadIndex& at, std::size_t pair, double hypot) {
    const auto position = static_cast<double>(
        std::abs(reference::bounding_position(positions, at, frequencies.axes, pair)));
    const double angle = position * std::abs(frequencies.inv_freq[pair]);
    return position <= 1000
               ? 1e-4
               : (0x1p-21 + 4 * 0x1p-23 * frequencies.attention_factor * angle) * hypot;
  };
  expect_rotated(file, file, rotations_of(frequencies, positions), DType::f32, tolerance);
}

}  // namespace rotary::test
