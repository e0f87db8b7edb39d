// SPDX-License-Identifier: Apache-2.0
// Pairs of HunYuan-VL and V-JEPA 2 have two angles. Compares heads with those that the models' own
// functions rotated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/position_maps.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using Numbers = std::vector<std::vector<double>>;

// The models compute cos and sin in float32, from a float32 angle and frequency. Then they round
// two products and a sum.
constexpr double number_error = 2.5e-7;
constexpr double of_angle = 4 * 0x1p-24;

TwoAngles angles_of(const nlohmann::json& golden) {
  const auto head_dim = golden.at("head_dim").get<std::int64_t>();
  if (golden.at("model") == "vjepa2") return test::value_of(vjepa2_two_angles(head_dim));
  return test::value_of(
      hunyuan_vl_two_angles(head_dim, golden.at("base").get<double>(),
                            golden.at("sections").get<std::vector<std::int64_t>>()));
}

void expect_near(const Numbers& wanted, std::span<const double> got, std::size_t token,
                 const std::vector<double>& bounds) {
  ASSERT_EQ(got.size(), wanted[token].size());
  for (std::size_t f = 0; f < got.size(); ++f)
    EXPECT_NEAR(got[f], wanted[token][f], bounds[f]) << "token " << token << " feature " << f;
}

TEST(TwoAnglesGolden, HeadsAgreeWithTheModelsFunctions) {
  const nlohmann::json file = test::read_golden("two_angles");
  ASSERT_EQ(file.at("cases").size(), 4U);
  for (const auto& golden : file.at("cases")) {
    SCOPED_TRACE(golden.at("model").get<std::string>() + " " + golden.at("head_dim").dump());
    const TwoAngles angles = angles_of(golden);
    const auto coordinates = test::flat<std::int64_t>(golden.at("coordinates"));
    const auto axes = static_cast<std::int64_t>(golden.at("coordinates").size());
    const auto rows =
        test::value_of(make_two_angle_rows(angles, positions_of(std::span(coordinates), 1, axes)));
    const Numbers x = golden.at("x").get<Numbers>();
    const Numbers out = golden.at("out").get<Numbers>();
    const Extents extents{.tokens = static_cast<std::int64_t>(x.size()),
                          .heads = 1,
                          .features = static_cast<std::int64_t>(x.front().size())};
    auto heads = test::flat<double>(golden.at("x"));
    const HeadsView view{heads.data(), DType::f64, extents, strides_bthd(extents)};
    test::require(apply_two_angles(view, view, rows));
    for (std::size_t token = 0; token < x.size(); ++token) {
      std::vector<double> bounds(x.front().size(), number_error);
      double most = 0;
      for (const double each : x[token]) most = std::max(most, std::abs(each));
      for (std::size_t f = 0; f < angles.of_features.inv_freq.size(); ++f)
        bounds[f] += 100 * of_angle * angles.of_features.inv_freq[f];
      if (golden.contains("cos")) {
        const auto at = static_cast<std::int64_t>(token);
        expect_near(golden.at("cos").get<Numbers>(), rows.rows.cos<double>(0, at), token, bounds);
        expect_near(golden.at("sin").get<Numbers>(), rows.rows.sin<double>(0, at), token, bounds);
      }
      for (double& bound : bounds) bound *= 3 * most;
      expect_near(out, std::span(heads).subspan(token * bounds.size(), bounds.size()), token,
                  bounds);
    }
  }
}

}  // namespace
}  // namespace rotary
