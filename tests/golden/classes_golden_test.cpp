// SPDX-License-Identifier: Apache-2.0
// The default configs of every rotary class of Transformers, resolved: frequencies, factor and the
// layers that rotate, as the classes themselves have them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

const ModelRotary* find_rotary(const ModelSpec& model, const std::string& label) {
  const auto found = std::find_if(model.rotary.begin(), model.rotary.end(), [&](const auto& each) {
    return each.layer_type.value_or("") == label;
  });
  if (found != model.rotary.end()) return &*found;
  return model.rotary.size() == 1 ? &model.rotary.front() : nullptr;
}

std::vector<double> falling_frequencies(const RotarySpec& spec) {
  std::vector<double> falling = test::value_of(make_frequencies(spec, 1)).inv_freq;
  for (double& each : falling) each = std::abs(each);
  std::sort(falling.begin(), falling.end(), std::greater<>());
  return falling;
}

void expect_rope(const ModelRotary& rotary, const nlohmann::json& wanted) {
  const std::vector<double> got = falling_frequencies(rotary.spec);
  EXPECT_NEAR(test::value_of(make_frequencies(rotary.spec, 1)).attention_factor,
              wanted.at("factor").get<double>(), 1e-6);
  for (const auto& [place, frequency] : wanted.at("inv_freq").items()) {
    const auto i = static_cast<std::size_t>(std::stoul(place));
    const auto there = frequency.get<double>();
    if (i >= got.size()) {
      EXPECT_EQ(there, 0) << "pair " << place;  // does not turn
    } else {
      EXPECT_NEAR(got[i], there, there * test::float32_tolerance) << "pair " << place;
    }
  }
}

std::vector<std::size_t> rotating_layers(const ModelSpec& model) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].encoding == LayerEncoding::rotary) layers.push_back(i);
  }
  return layers;
}

TEST(ClassesGolden, EveryClassOfTransformers) {
  const nlohmann::json file = test::read_golden("classes");
  ASSERT_GT(file.at("classes").size(), 180U);
  for (const auto& each : file.at("classes")) {
    SCOPED_TRACE(each.at("class").get<std::string>());
    const ModelSpec model = test::value_of(resolve(each.at("config").dump()));
    for (const auto& [label, wanted] : each.at("ropes").items()) {
      const ModelRotary* const rotary = find_rotary(model, label);
      ASSERT_NE(rotary, nullptr) << label;
      expect_rope(*rotary, wanted);
    }
    const auto& rotating = each.at("rotating");
    if (rotating.is_null()) continue;
    EXPECT_EQ(rotating_layers(model), rotating.get<std::vector<std::size_t>>());
  }
}

}  // namespace
}  // namespace rotary
