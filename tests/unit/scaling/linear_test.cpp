// SPDX-License-Identifier: Apache-2.0
// The explicit, clipped, Llama 3, proportional and RetNet rules.
#include <algorithm>

#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;
using test::llama_with;
using test::spec_with;
using test::with;

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

// Clipped RoPE slows or stops the slowest pairs.
TEST(ClippedRule, KeepsTheFastPairs) {
  const auto kept = test::frequencies_with(NoScaling{}).inv_freq;
  const auto cosine = test::frequencies_with(ClippedScaling{.clipped_pairs = 20}).inv_freq;
  // The first clipped pair, 12, has the factor cos 0 = 1 and is kept.
  EXPECT_TRUE(std::equal(kept.begin(), kept.begin() + 13, cosine.begin()));
  EXPECT_LT(cosine[13], kept[13]);
  EXPECT_GT(cosine[30], 0);
  EXPECT_EQ(cosine[31], 0);
  const auto hard =
      test::frequencies_with(ClippedScaling{.clipped_pairs = 20, .edge = ClippedEdge::hard})
          .inv_freq;
  EXPECT_TRUE(std::equal(kept.begin(), kept.begin() + 12, hard.begin()));
  EXPECT_TRUE(std::all_of(hard.begin() + 12, hard.end(), [](double each) { return each == 0; }));
}

TEST(ClippedRule, RefusesInvalidClippedPairs) {
  expect_refused(ClippedScaling{.clipped_pairs = 0}, {"clipped_pairs must be > 0, got 0"});
  expect_refused(ClippedScaling{.clipped_pairs = 33}, {"clipped_pairs must be in [1, 32], got 33"});
}

TEST(Llama3Rule, RefusesAHighFactorBelowTheLow) {
  const Llama3Scaling good{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  expect_refused(with(good, &Llama3Scaling::high_freq_factor, 0.5),
                 {"high_freq_factor must be >= low_freq_factor", "0.5"});
}

// Gemma 4's full attention rotates 64 of 256 pairs, with the exponents -2i / 512 of the full head.
TEST(ProportionalRule, KeepsTheFastPairsOfTheFullHead) {
  const auto spec = test::spec_with(1e6, 512, ProportionalScaling{.turning_fraction = 0.25});
  const auto got = test::value_of(make_frequencies(spec)).inv_freq;
  const auto whole = test::value_of(make_frequencies(test::spec_with(1e6, 512, NoScaling{})));
  EXPECT_TRUE(std::equal(got.begin(), got.begin() + 64, whole.inv_freq.begin()));
  EXPECT_TRUE(std::all_of(got.begin() + 64, got.end(), [](double each) { return each == 0; }));
  // With a rotary_dim of 128 the frequencies would differ.
  const auto partial = test::value_of(make_frequencies(test::spec_with(1e6, 128, NoScaling{})));
  EXPECT_NE(got[1], partial.inv_freq[1]);
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

TEST(RetNetRule, EndsWithOneOverBase) {
  const auto got = test::frequencies_with(RetNetScaling{}).inv_freq;
  EXPECT_EQ(got.front(), 1);
  EXPECT_EQ(got.back(), 1 / 10000.0);
  EXPECT_NE(got, test::frequencies_with(NoScaling{}).inv_freq);
}

TEST(RetNetRule, NeedsTwoPairs) {
  test::expect_refused(test::spec_with(10000, 2, RetNetScaling{}), {"rotary_dim >= 4", "got 2"});
}

}  // namespace
}  // namespace rotary
