// SPDX-License-Identifier: Apache-2.0
// Clipped RoPE: the slowest pairs slow down or stand still.
#include <algorithm>

#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;

TEST(ClippedRule, AsReference) {
  for (const std::int64_t clipped : {1, 2, 3, 20, 64, 256}) {
    for (const ClippedEdge edge : {ClippedEdge::cosine, ClippedEdge::hard}) {
      test::expect_as_reference_for_many_specs(
          ClippedScaling{.clipped_pairs = clipped, .edge = edge}, {}, 2 * clipped);
    }
  }
}

TEST(ClippedRule, KeepsTheFastPairs) {
  const auto kept = test::frequencies_with(NoScaling{}).inv_freq;
  const auto cosine = test::frequencies_with(ClippedScaling{.clipped_pairs = 20}).inv_freq;
  EXPECT_TRUE(std::equal(kept.begin(), kept.begin() + 13, cosine.begin()));  // the first of the
  EXPECT_LT(cosine[13], kept[13]);  // clipped ones, 12, has cos 0
  EXPECT_GT(cosine[30], 0);
  EXPECT_EQ(cosine[31], 0);
  const auto hard =
      test::frequencies_with(ClippedScaling{.clipped_pairs = 20, .edge = ClippedEdge::hard})
          .inv_freq;
  EXPECT_TRUE(std::equal(kept.begin(), kept.begin() + 12, hard.begin()));
  EXPECT_TRUE(std::all_of(hard.begin() + 12, hard.end(), [](double each) { return each == 0; }));
}

TEST(ClippedRule, Refusals) {
  expect_refused(ClippedScaling{.clipped_pairs = 0}, {"clipped_pairs must be > 0, got 0"});
  expect_refused(ClippedScaling{.clipped_pairs = 33}, {"clipped_pairs must be in [1, 32], got 33"});
}

TEST(ClippedRule, InASpec) {
  EXPECT_EQ(test::scaling_of_text(R"({"rope_type": "clipped", "clipped_pairs": 20})"),
            Scaling(ClippedScaling{.clipped_pairs = 20}));
  EXPECT_EQ(test::scaling_of_text(R"({"rope_type": "clipped", "clipped_pairs": 20,
      "edge": "hard"})"),
            Scaling(ClippedScaling{.clipped_pairs = 20, .edge = ClippedEdge::hard}));
  test::malformed_spec(R"({"rope_type": "clipped"})", {"clipped_pairs must be given"});
  test::malformed_spec(R"({"rope_type": "clipped", "clipped_pairs": 2.5})",
                       {"clipped_pairs must be an integer", "2.5"});
  test::malformed_spec(R"({"rope_type": "clipped", "clipped_pairs": 2, "edge": "soft"})",
                       {"edge must be cosine or hard, got", "soft"});
}

}  // namespace
}  // namespace rotary
