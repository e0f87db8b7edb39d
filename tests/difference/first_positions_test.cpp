// SPDX-License-Identifier: Apache-2.0
// The first position at which embeddings part, against tools/golden/first_positions.py, which looks
// at every row.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rotary/model_difference.hpp"
#include "rotary/spec_json.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

nlohmann::json recorded_cases() {
  std::ifstream file(test::source_path("tests/golden/first_positions.json"));
  return nlohmann::json::parse(file).at("cases");
}

RowsDifference difference_of(const nlohmann::json& recorded) {
  const auto frequencies = [&](const char* side) {
    const auto spec = parse_rotary_spec(recorded.at(side).dump());
    return test::value_of(make_frequencies(test::value_of(spec)));
  };
  return test::value_of(compare_rows(frequencies("one"), frequencies("other"),
                                     recorded.at("context_tokens").get<std::int64_t>()));
}

TEST(FirstPositions, AreThoseOfALookAtEveryRow) {
  for (const auto& recorded : recorded_cases()) {
    SCOPED_TRACE(recorded.at("title").get<std::string>());
    const RowsDifference found = difference_of(recorded);
    EXPECT_TRUE(found.same_features);
    const auto& first = recorded.at("first_position");
    ASSERT_EQ(found.first_position.has_value(), !first.is_null());
    if (found.first_position) {
      EXPECT_EQ(*found.first_position, first.get<std::int64_t>());
    }
    EXPECT_EQ(found.pairs, recorded.at("pairs").get<std::vector<std::int64_t>>());
    // Double against 80 bits: of angles below 2^20 radians, 2^-33.
    const auto expect_near = [&](const char* member, double value) {
      EXPECT_NEAR(value, recorded.at(member).get<double>(), 0x1p-32) << member;
    };
    expect_near("at_first", found.at_first);
    expect_near("largest_angle_error", found.largest_angle_error);
    expect_near("largest_score_change", found.largest_score_change.value_or(-1));
    expect_near("least_correlation", found.least_correlation);
    EXPECT_EQ(found.largest_angle_pair, recorded.at("largest_angle_pair").get<std::int64_t>());
  }
}

}  // namespace
}  // namespace rotary
