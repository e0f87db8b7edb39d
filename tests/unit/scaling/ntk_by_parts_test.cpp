// SPDX-License-Identifier: Apache-2.0
// NTK-by-parts: three rules, each for the pairs that it suits.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;
using test::with;

constexpr NtkByPartsScaling llama{.factor = 8, .original_context_tokens = 2048};

TEST(NtkByPartsRule, AsReference) {
  for (const double factor : {1.0, 2.0, 8.0, 64.0}) {
    for (const std::int64_t original : {1, 50, 2048, 1 << 30}) {
      for (const double part : {0.0, 0.25, 1.0}) {
        test::expect_as_reference_for_many_specs(
            NtkByPartsScaling{.factor = factor,
                              .original_context_tokens = original,
                              .ntk_factor = part,
                              .extrapolation_factor = 1 - part / 2},
            {}, 4);
      }
    }
  }
}

// By the turns of a pair of 64 features within 2048 tokens.
TEST(NtkByPartsRule, EachPartHasItsRule) {
  const auto got = test::frequencies_with(llama).inv_freq;
  const auto kept = test::frequencies_with(NoScaling{}).inv_freq;
  const auto ntk = test::frequencies_with(NtkScaling{.alpha = 8}).inv_freq;
  const auto linear = test::frequencies_with(LinearScaling{.factor = 8}).inv_freq;
  EXPECT_EQ(got[0], kept[0]);      // 326 turns
  EXPECT_EQ(got[10], kept[10]);    // 18
  EXPECT_EQ(got[18], ntk[18]);     // 1.8
  EXPECT_EQ(got[22], linear[22]);  // 0.58
  EXPECT_EQ(got[31], linear[31]);
}

TEST(NtkByPartsRule, IsLinearWithoutItsParts) {
  const NtkByPartsScaling none{
      .factor = 8, .original_context_tokens = 2048, .ntk_factor = 0, .extrapolation_factor = 0};
  EXPECT_EQ(test::frequencies_with(none).inv_freq,
            test::frequencies_with(LinearScaling{.factor = 8}).inv_freq);
}

TEST(NtkByPartsRule, Refusals) {
  expect_refused(test::spec_with(10000, 2, llama), {"rotary_dim >= 4", "got 2"});
  expect_refused(test::spec_with(2, 64, with(llama, &NtkByPartsScaling::factor, 1e-3)),
                 {"base * factor^(d/(d-2)) finite and > 1", "0.001"});
}

}  // namespace
}  // namespace rotary
