// SPDX-License-Identifier: Apache-2.0
// Ids that get_rope_index of published classes gives random prompts: exactly ours.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/m_rope.hpp"
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

TEST(RopeIndexGolden, EveryPublishedFamilyExactly) {
  const nlohmann::json file = test::read_golden("rope_index");
  std::set<std::string> conventions;
  for (const nlohmann::json& test_case : file.at("cases")) {
    const MRopeConvention convention = convention_of(test_case);
    conventions.emplace(convention.name);
    std::vector<TokenGroup> groups;
    for (const nlohmann::json& group : test_case.at("groups")) groups.push_back(group_of(group));
    const auto got = test::value_of(m_rope_coordinates(groups, convention));
    std::vector<double> wanted;
    for (const nlohmann::json& axis : test_case.at("ids"))
      for (const nlohmann::json& id : axis) wanted.push_back(id.get<double>());
    EXPECT_EQ(got.positions.numbers, wanted) << test_case.dump();
    const nlohmann::json& delta = test_case.at("delta");
    EXPECT_EQ(got.delta, delta.is_null() ? got.delta : delta.get<double>()) << test_case.dump();
    if (convention.frame_times == FrameTimes::not_truncated) continue;
    const auto integers = test::value_of(m_rope_positions(groups, convention));
    EXPECT_TRUE(std::ranges::equal(integers.positions.numbers, got.positions.numbers));
    EXPECT_EQ(static_cast<double>(integers.delta), got.delta);
  }
  EXPECT_GE(conventions.size(), 22U);
}

}  // namespace
}  // namespace rotary
