// SPDX-License-Identifier: Apache-2.0
// Resolves the default config of every rotary class of Transformers, and configs with every form of
// rope keys. Frequencies, factors and rotating layers must equal those of the class.
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

std::vector<double> falling_frequencies(const Frequencies& frequencies) {
  std::vector<double> falling = frequencies.inv_freq;
  for (double& each : falling) each = std::abs(each);
  std::sort(falling.begin(), falling.end(), std::greater<>());
  return falling;
}

void expect_rope(const ModelRotary& rotary, const nlohmann::json& wanted, std::int64_t context) {
  const Frequencies frequencies = test::value_of(make_frequencies(rotary.spec, context));
  const std::vector<double> got = falling_frequencies(frequencies);
  EXPECT_NEAR(frequencies.attention_factor, wanted.at("factor").get<double>(), 1e-6);
  for (const auto& [place, frequency] : wanted.at("inv_freq").items()) {
    const auto i = static_cast<std::size_t>(std::stoul(place));
    const auto there = frequency.get<double>();
    if (i >= got.size()) {
      EXPECT_EQ(there, 0) << "pair " << place;  // this pair does not rotate
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

void expect_ropes(const ModelSpec& model, const nlohmann::json& ropes, std::int64_t context) {
  for (const auto& [label, wanted] : ropes.items())
    expect_rope(test::rotary_of(model, label), wanted, context);
}

TEST(ClassesGolden, EveryClassOfTransformersAgrees) {
  const nlohmann::json file = test::read_golden("classes");
  ASSERT_GT(file.at("classes").size(), 180U);
  for (const auto& each : file.at("classes")) {
    SCOPED_TRACE(each.at("class").get<std::string>());
    const ModelSpec model = test::value_of(resolve(each.at("config").dump()));
    expect_ropes(model, each.at("ropes"), 1);
    const auto& rotating = each.at("rotating");
    if (rotating.is_null()) continue;
    EXPECT_EQ(rotating_layers(model), rotating.get<std::vector<std::size_t>>());
  }
}

// "ropes" is null if the class refuses the config.
TEST(ClassesGolden, EveryFormOfRopeKeysAgrees) {
  const nlohmann::json file = test::read_golden("config_forms");
  ASSERT_GT(file.at("config_forms").size(), 70U);
  for (const auto& each : file.at("config_forms")) {
    const std::string config = each.at("config").dump();
    SCOPED_TRACE(each.at("form").get<std::string>() + " " + config);
    const auto model = resolve(config);
    const auto& ropes = each.at("ropes");
    ASSERT_EQ(model.has_value(), !ropes.is_null());
    if (!model) continue;
    const auto& context = each.at("context");
    expect_ropes(*model, ropes, context.is_null() ? 1 : context.get<std::int64_t>());
  }
}

}  // namespace
}  // namespace rotary
