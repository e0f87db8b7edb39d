// SPDX-License-Identifier: Apache-2.0
// Proportional: the slow pairs of the whole head stand still.
#include <algorithm>

#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::llama_with;

TEST(ProportionalRule, AsReference) {
  for (const double fraction : {1e-9, 0.25, 0.3, 0.5, 0.99, 1.0}) {
    for (const double factor : {0.5, 1.0, 8.0}) {
      test::expect_as_reference_for_many_specs(
          ProportionalScaling{.turning_fraction = fraction, .factor = factor});
    }
  }
}

// Gemma 4's full attention: 64 of 256 pairs turn, with the exponents of the whole head.
TEST(ProportionalRule, KeepsTheFastPairsOfTheWholeHead) {
  const auto spec = test::spec_with(1e6, 512, ProportionalScaling{.turning_fraction = 0.25});
  const auto got = test::value_of(make_frequencies(spec)).inv_freq;
  const auto whole = test::value_of(make_frequencies(test::spec_with(1e6, 512, NoScaling{})));
  EXPECT_TRUE(std::equal(got.begin(), got.begin() + 64, whole.inv_freq.begin()));
  EXPECT_TRUE(std::all_of(got.begin() + 64, got.end(), [](double each) { return each == 0; }));
  // Not those of partial rotary embedding.
  const auto partial = test::value_of(make_frequencies(test::spec_with(1e6, 128, NoScaling{})));
  EXPECT_NE(got[1], partial.inv_freq[1]);
}

void expect_of_the_whole_head(const std::string& config, const ProportionalScaling& expected) {
  const RotarySpec spec = test::resolved_rotary(config);
  EXPECT_EQ(spec.scaling, Scaling(expected)) << config;
  EXPECT_EQ(test::value_of(make_frequencies(spec)).window.rotary_dim, 64) << config;
}

TEST(ProportionalRule, InAConfig) {
  expect_of_the_whole_head(llama_with(R"("rope_parameters": {"rope_type": "proportional",
          "partial_rotary_factor": 0.25, "rope_theta": 1000000.0})"),
                           {.turning_fraction = 0.25});
  expect_of_the_whole_head(
      llama_with(R"("rope_parameters": {"rope_type": "proportional", "factor": 8})"),
      {.turning_fraction = 1, .factor = 8});
  // The one in the dictionary wins, as for every rule.
  expect_of_the_whole_head(llama_with(R"("partial_rotary_factor": 0.5, "rope_parameters": {
          "rope_type": "proportional", "partial_rotary_factor": 0.25})"),
                           {.turning_fraction = 0.25});
  // A fraction that gives no even number of features, which would be refused elsewhere.
  expect_of_the_whole_head(llama_with(R"("rope_parameters": {"rope_type": "proportional",
          "partial_rotary_factor": 0.3})"),
                           {.turning_fraction = 0.3});
}

TEST(ProportionalRule, InAConfigOfLayerTypes) {
  const auto model = test::resolved(R"({"model_type": "lfm3", "head_dim": 64,
      "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "proportional",
        "partial_rotary_factor": 0.25, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})");
  ASSERT_EQ(model.rotary.size(), 2U);
  EXPECT_EQ(model.rotary[0].spec.scaling, Scaling(ProportionalScaling{.turning_fraction = 0.25}));
  EXPECT_EQ(model.rotary[1].spec.scaling, Scaling(NoScaling{}));
}

}  // namespace
}  // namespace rotary
