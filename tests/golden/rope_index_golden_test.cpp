// SPDX-License-Identifier: Apache-2.0
// Ids of random prompts must equal those of the published classes' get_rope_index.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/m_rope.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

ImagePatches patches_of(const nlohmann::json& sides, std::size_t first) {
  return {.rows = sides.at(first).get<std::int64_t>(),
          .columns = sides.at(first + 1).get<std::int64_t>()};
}

TokenGroup image_of(const nlohmann::json& group) {
  const ImagePatches image = patches_of(group.at("image"), 0);
  if (!group.contains("newlines")) return image;
  SlicedImage sliced{.thumbnail = image,
                     .newlines_after = group.at("newlines").get<std::int64_t>()};
  if (!group.contains("slices")) return sliced;
  const nlohmann::json& slices = group.at("slices");
  const ImagePatches many = patches_of(slices, 0);
  sliced.slices_down = many.rows;
  sliced.slices_across = many.columns;
  sliced.slice = patches_of(slices, 2);
  return sliced;
}

TokenGroup group_of(const nlohmann::json& group) {
  if (group.contains("text")) return TextTokenRun{group.at("text").get<std::int64_t>()};
  if (group.contains("image")) return image_of(group);
  const ImagePatches frame = patches_of(group.at("video"), 1);
  return VideoPatches{.frames = group.at("video").at(0).get<std::int64_t>(),
                      .rows = frame.rows,
                      .columns = frame.columns,
                      .seconds_per_frame = group.at("seconds").get<double>(),
                      .text_between_frames = group.value("between", std::int64_t{0}),
                      .audio_tokens = group.value("sound", std::int64_t{0})};
}

MRopeConvention convention_of(const nlohmann::json& test_case) {
  auto convention =
      test::value_of(m_rope_convention(test_case.at("convention").get<std::string>()));
  const nlohmann::json& members = test_case.at("members");
  convention.merge = members.value("merge", convention.merge);
  convention.temporal_merge = members.value("temporal_merge", convention.temporal_merge);
  convention.ids_per_second = members.value("ids_per_second", convention.ids_per_second);
  convention.ids_per_chunk = members.value("ids_per_chunk", convention.ids_per_chunk);
  return convention;
}

TEST(RopeIndexGolden, EveryPublishedFamilyAgrees) {
  const nlohmann::json file = test::read_golden("rope_index");
  std::set<std::string> conventions;
  for (const nlohmann::json& test_case : file.at("cases")) {
    const MRopeConvention convention = convention_of(test_case);
    conventions.emplace(convention.name);
    std::vector<TokenGroup> groups;
    for (const nlohmann::json& group : test_case.at("groups")) groups.push_back(group_of(group));
    const auto got = test::value_of(m_rope_coordinates(groups, convention));
    EXPECT_EQ(got.positions.numbers, test::flat<double>(test_case.at("ids"))) << test_case.dump();
    const nlohmann::json& delta = test_case.at("delta");
    EXPECT_EQ(got.delta, delta.is_null() ? got.delta : delta.get<double>()) << test_case.dump();
    if (convention.frame_times == FrameTimes::not_truncated) continue;
    const auto integers = test::value_of(m_rope_positions(groups, convention));
    EXPECT_TRUE(std::ranges::equal(integers.positions.numbers, got.positions.numbers));
    EXPECT_EQ(static_cast<double>(integers.delta), got.delta);
  }
  EXPECT_GE(conventions.size(), 22U);
}

// Rows of models with several position axes: text models, vision towers, diffusion transformers.
// cos and sin must agree with those of each model's class for equal coordinates.

using Rows = std::vector<std::vector<double>>;

// The classes compute angle, cos and sin in float32, from a float32 frequency.
constexpr double row_error = 2.5e-7;
constexpr double angle_error = 4 * 0x1p-24;

std::string same_features(const HeadWindow& window) {
  if (window.pairing.get() == Pairing::half) return window.blocks == 2 ? "blocks" : "half";
  return "interleaved";
}

void expect_rows(const Frequencies& frequencies, const Rotations& rotations,
                 const nlohmann::json& wanted, double largest) {
  const Rows cos = wanted.at("cos").get<Rows>();
  const Rows sin = wanted.at("sin").get<Rows>();
  EXPECT_EQ(same_features(frequencies.window), wanted.at("same").get<std::string>());
  for (std::size_t token = 0; token < cos.size(); ++token) {
    const auto got_cos = rotations.cos<double>(0, static_cast<std::int64_t>(token));
    const auto got_sin = rotations.sin<double>(0, static_cast<std::int64_t>(token));
    ASSERT_EQ(got_cos.size(), cos[token].size());
    for (std::size_t pair = 0; pair < got_cos.size(); ++pair) {
      const double bound = frequencies.attention_factor * row_error +
                           angle_error * largest * std::abs(frequencies.inv_freq[pair]);
      EXPECT_NEAR(got_cos[pair], cos[token][pair], bound) << "token " << token << " pair " << pair;
      EXPECT_NEAR(got_sin[pair], sin[token][pair], bound) << "token " << token << " pair " << pair;
    }
  }
}

TEST(AxisRowsGolden, EveryClassWithSeveralAxesAgrees) {
  const nlohmann::json file = test::read_golden("axis_rows");
  ASSERT_GT(file.at("cases").size(), 60U);
  for (const auto& each : file.at("cases")) {
    SCOPED_TRACE(each.at("class").get<std::string>() + " " + each.at("config").dump());
    const ModelSpec model = test::value_of(resolve(each.at("config").dump()));
    EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
    const auto axes = static_cast<std::int64_t>(each.at("coordinates").size());
    const auto coordinates = test::flat<double>(each.at("coordinates"));
    double largest = 1;
    for (const double coordinate : coordinates) largest = std::max(largest, std::abs(coordinate));
    for (const auto& [label, wanted] : each.at("ropes").items()) {
      const ModelRotary& rotary = test::rotary_of(model, label);
      const Frequencies frequencies = test::value_of(make_frequencies(rotary.spec, 16384));
      ASSERT_EQ(frequencies.axes.count, axes);
      const auto rotations = test::value_of(
          make_rotations(frequencies, positions_of(coordinates, 1, axes), {.rows = RowDType::f64}));
      expect_rows(frequencies, rotations, wanted, largest);
    }
  }
}

}  // namespace
}  // namespace rotary
