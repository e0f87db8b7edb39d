// SPDX-License-Identifier: Apache-2.0
// Frequencies given one by one.

#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::spec_with;

const ExplicitScaling listed{.inv_freq = {1, 0.25, 0, 0x1p-1074}, .attention_factor = 1.5};

TEST(ExplicitRule, IsWhatItSays) {
  const auto got = test::value_of(make_frequencies(spec_with(10000, 8, listed)));
  EXPECT_EQ(got.inv_freq, listed.inv_freq);
  EXPECT_EQ(got.attention_factor, 1.5);
  EXPECT_EQ(got.contexts, ContextRange{});
  test::expect_as_reference(spec_with(10000, 8, listed));
  // Whatever the base.
  EXPECT_TRUE(rotate_alike(got, test::value_of(make_frequencies(spec_with(7, 8, listed)))));
}

TEST(ExplicitRule, IsTheListOfMakeFrequencies) {
  const HeadWindow window{.head_dim = 8, .rotary_dim = 8, .pairing = Pairing::half};
  const auto of_list = test::value_of(make_frequencies(window, listed.inv_freq, 1.5));
  const auto of_rule = test::value_of(make_frequencies(spec_with(10000, 8, listed)));
  EXPECT_TRUE(rotate_alike(of_list, of_rule));
  EXPECT_EQ(of_list.turns, of_rule.turns);
}

TEST(ExplicitRule, InASpec) {
  EXPECT_EQ(test::scaling_of_text(R"({"rope_type": "explicit", "inv_freq": [1, 0.25, 0]})"),
            Scaling(ExplicitScaling{.inv_freq = {1, 0.25, 0}}));
  EXPECT_EQ(test::scaling_of_text(R"({"rope_type": "explicit", "inv_freq": [1],
      "attention_factor": 1.5})"),
            Scaling(ExplicitScaling{.inv_freq = {1}, .attention_factor = 1.5}));
  test::malformed_spec(R"({"rope_type": "explicit"})", {"inv_freq must be given"});
  test::malformed_spec(R"({"rope_type": "explicit", "inv_freq": 1})",
                       {"scaling.inv_freq must be an array of numbers, got 1"});
}

}  // namespace
}  // namespace rotary
