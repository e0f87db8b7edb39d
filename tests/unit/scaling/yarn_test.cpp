// SPDX-License-Identifier: Apache-2.0
#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;
using test::with;

// If beta_fast = beta_slow, the ramp is a step.
TEST(YarnRule, ThePapersRampIsLinearInAPairsTurns) {
  const YarnScaling paper{.factor = 4, .original_context_tokens = 4096, .ramp = YarnRamp::turns};
  const auto got = test::frequencies_with(paper).inv_freq;
  const auto kept = test::frequencies_with(NoScaling{}).inv_freq;
  const auto pairs = test::frequencies_with(with(paper, &YarnScaling::ramp, YarnRamp::fractional));
  EXPECT_EQ(got[10], kept[10]);            // 36.7 turns
  EXPECT_EQ(got[23], kept[23] / 4);        // 0.87
  EXPECT_LT(got[16], pairs.inv_freq[16]);  // 6.5: a fifth of the way by turns, half by pairs
  const YarnScaling step{.factor = 4,
                         .original_context_tokens = 4096,
                         .beta_fast = 8,
                         .beta_slow = 8,
                         .ramp = YarnRamp::turns};
  const auto cut = test::frequencies_with(step).inv_freq;
  EXPECT_EQ(cut[15], kept[15]);      // 8.7
  EXPECT_EQ(cut[16], kept[16] / 4);  // 6.5
}

TEST(YarnRule, ASpecsRampIsRead) {
  const auto ramp_of = [](std::string_view members) {
    std::string text = R"({"rope_type": "yarn", "factor": 4,
        "original_max_position_embeddings": 4096, "finetuned": true)";
    return text.append(members).append("}");
  };
  const auto read = [&](std::string_view members) {
    return std::get<YarnScaling>(test::scaling_of_text(ramp_of(members))).ramp;
  };
  EXPECT_EQ(read(""), YarnRamp::whole_pairs);
  EXPECT_EQ(read(R"(, "ramp": "turns")"), YarnRamp::turns);
  EXPECT_EQ(read(R"(, "ramp": "fractional")"), YarnRamp::fractional);
  EXPECT_EQ(read(R"(, "ramp": "whole_pairs")"), YarnRamp::whole_pairs);
  EXPECT_EQ(read(R"(, "truncate": false)"), YarnRamp::fractional);
  test::malformed_spec(ramp_of(R"(, "ramp": "linear")"),
                       {"scaling.ramp must be whole_pairs, fractional or turns"});
  test::malformed_spec(ramp_of(R"(, "ramp": "turns", "truncate": false)"),
                       {"ramp and truncate must not both be given"});
}

// A null attention_factor counts as absent, so it is computed. An integer is used, with the warning
// that Transformers gives.
TEST(YarnRule, ANullAttentionFactorIsComputedAndAnIntegerWarns) {
  const auto read = [](std::string_view value) {
    return test::resolved(test::llama_with(R"("rope_scaling": {"type": "yarn", "factor": 2,
        "original_max_position_embeddings": 2048, )" +
                                           test::member("attention_factor", value) + "}"));
  };
  const auto factor_of = [](const ModelSpec& model) {
    return std::get<YarnScaling>(model.rotary.front().spec.scaling).attention_factor;
  };
  EXPECT_EQ(factor_of(read("null")), std::nullopt);
  EXPECT_TRUE(read("null").warnings.empty());
  EXPECT_EQ(factor_of(read("1.0")), 1);
  EXPECT_TRUE(read("1.0").warnings.empty());
  EXPECT_EQ(factor_of(read("1")), 1);
  EXPECT_TRUE(test::warns(read("1"), "attention_factor is an integer, 1"));
}

// Keys of other programs are refused by name. ramp is a key of a spec, not of a config.
TEST(YarnRule, KeysOfOtherProgramsAreRefused) {
  for (const std::string_view key :
       {"attn_factor", "apply_yarn_scaling", "extrapolation_factor", "ramp"}) {
    const std::string member = test::member(key, "1");
    const std::string config = test::llama_with(
        R"("rope_scaling": {"type": "yarn", "factor": 2,
            "original_max_position_embeddings": 2048, )" +
        member + "}");
    test::not_supported(config, {std::string(key), "is not a key of rope_type 'yarn'",
                                 "which accepts", "attention_factor"});
  }
  test::not_supported(
      test::llama_with(R"("rope_scaling": {"type": "yarn", "factor": 2, "attn_factor": 1,
          "original_max_position_embeddings": 2048})"),
      {"attention_factor, which replaces it, is Transformers' name"});
}

TEST(YarnRule, RefusesANegativeAttentionFactor) {
  // 0.1 m ln 4 + 1 < 0
  expect_refused(
      YarnScaling{
          .factor = 4, .original_context_tokens = 4096, .mscale = -1000, .mscale_all_dim = 1},
      {"attention_factor", "got"});
}

}  // namespace
}  // namespace rotary
