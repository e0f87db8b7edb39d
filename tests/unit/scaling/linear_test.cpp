// SPDX-License-Identifier: Apache-2.0
// The explicit, clipped, proportional and RetNet rules.
#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;
using test::llama_with;
using test::spec_with;

const ExplicitScaling listed{.inv_freq = {1, 0.25, 0, 0x1p-1074}, .attention_factor = 1.5};

TEST(ExplicitRule, KeepsItsListAndFactor) {
  const auto got = test::value_of(make_frequencies(spec_with(10000, 8, listed)));
  EXPECT_EQ(got.inv_freq, listed.inv_freq);
  EXPECT_EQ(got.attention_factor, 1.5);
  EXPECT_EQ(got.contexts, ContextRange{});
  test::expect_as_reference(spec_with(10000, 8, listed));
  // The base does not matter.
  EXPECT_TRUE(rotate_alike(got, test::value_of(make_frequencies(spec_with(7, 8, listed)))));
}

TEST(ExplicitRule, EqualsAListGivenToMakeFrequencies) {
  const HeadWindow window{.head_dim = 8, .rotary_dim = 8, .pairing = Pairing::half};
  const auto of_list = test::value_of(make_frequencies(window, listed.inv_freq, 1.5));
  const auto of_rule = test::value_of(make_frequencies(spec_with(10000, 8, listed)));
  EXPECT_TRUE(rotate_alike(of_list, of_rule));
  EXPECT_EQ(of_list.turns, of_rule.turns);
}

TEST(ClippedRule, RefusesMoreClippedPairsThanPairs) {
  expect_refused(ClippedScaling{.clipped_pairs = 33}, {"clipped_pairs must be in [1, 32], got 33"});
}

void expect_of_the_whole_head(const std::string& config, const ProportionalScaling& expected) {
  const RotarySpec spec = test::resolved_rotary(config);
  EXPECT_EQ(spec.scaling, Scaling(expected)) << config;
  EXPECT_EQ(test::value_of(make_frequencies(spec)).window.rotary_dim, 64) << config;
}

TEST(ProportionalRule, IsReadFromAConfig) {
  expect_of_the_whole_head(llama_with(R"("rope_parameters": {"rope_type": "proportional",
          "partial_rotary_factor": 0.25, "rope_theta": 1000000.0})"),
                           {.turning_fraction = 0.25});
  expect_of_the_whole_head(
      llama_with(R"("rope_parameters": {"rope_type": "proportional", "factor": 8})"),
      {.turning_fraction = 1, .factor = 8});
  // The fraction in the dictionary wins, as for every rule.
  expect_of_the_whole_head(llama_with(R"("partial_rotary_factor": 0.5, "rope_parameters": {
          "rope_type": "proportional", "partial_rotary_factor": 0.25})"),
                           {.turning_fraction = 0.25});
  // 0.3 gives no even rotary_dim, so other rules refuse it.
  expect_of_the_whole_head(llama_with(R"("rope_parameters": {"rope_type": "proportional",
          "partial_rotary_factor": 0.3})"),
                           {.turning_fraction = 0.3});
}

TEST(ProportionalRule, IsReadFromAConfigWithLayerTypes) {
  const auto model = test::resolved(R"({"model_type": "lfm3", "head_dim": 64,
      "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "proportional",
        "partial_rotary_factor": 0.25, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})");
  ASSERT_EQ(model.rotary.size(), 2U);
  EXPECT_EQ(model.rotary[0].spec.scaling, Scaling(ProportionalScaling{.turning_fraction = 0.25}));
  EXPECT_EQ(model.rotary[1].spec.scaling, Scaling(NoScaling{}));
}

TEST(RetNetRule, NeedsTwoPairs) {
  test::expect_refused(test::spec_with(10000, 2, RetNetScaling{}), {"rotary_dim >= 4", "got 2"});
}

}  // namespace
}  // namespace rotary
