// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;
using test::with;

// A list that grows from first by step, one entry for each pair.
std::vector<double> list_of(std::size_t pairs, double first, double step) {
  std::vector<double> list;
  for (std::size_t i = 0; i < pairs; ++i) list.push_back(first + step * static_cast<double>(i));
  return list;
}

LongRopeScaling rule_of(std::size_t pairs) {
  return {.short_factor = list_of(pairs, 1, 0.03),
          .long_factor = list_of(pairs, 1.08, 0.9),
          .original_context_tokens = 4096,
          .factor = 32};
}

const LongRopeScaling phi = rule_of(32);

Frequencies frequencies_of(const LongRopeScaling& rule, test::Context context) {
  return test::frequencies_with(rule, context);
}

TEST(LongRopeRule, AgreesWithTheReference) {
  for (const std::size_t pairs : {1U, 2U, 10U, 48U, 64U, 256U}) {
    for (const double base : {1.0000001, 2.0, 10000.0, 1e11}) {
      for (const LongRopeSwitch lists : {LongRopeSwitch::by_context, LongRopeSwitch::always_short,
                                         LongRopeSwitch::always_long}) {
        for (const std::int64_t context : {1, 4096, 4097, 131072}) {
          const Scaling rule = with(rule_of(pairs), &LongRopeScaling::lists, lists);
          test::expect_as_reference(
              test::spec_with(base, static_cast<std::int64_t>(2 * pairs), rule), context);
        }
      }
    }
  }
}

TEST(LongRopeRule, TheContextChoosesTheList) {
  EXPECT_TRUE(depends_on_context(phi));
  const Frequencies within = frequencies_of(phi, 4096);
  const Frequencies beyond = frequencies_of(phi, 4097);
  EXPECT_EQ(within.contexts, (ContextRange{.first = 1, .last = 4096}));
  EXPECT_EQ(beyond.contexts, ContextRange{.first = 4097});
  EXPECT_TRUE(rotate_alike(within, frequencies_of(phi, 1)));
  EXPECT_TRUE(rotate_alike(beyond, frequencies_of(phi, 131072)));
  EXPECT_FALSE(rotate_alike(within, beyond));
}

TEST(LongRopeRule, TheSwitchChoosesTheList) {
  const auto always_short = with(phi, &LongRopeScaling::lists, LongRopeSwitch::always_short);
  const auto always_long = with(phi, &LongRopeScaling::lists, LongRopeSwitch::always_long);
  EXPECT_FALSE(depends_on_context(always_short));
  EXPECT_FALSE(depends_on_context(always_long));
  EXPECT_TRUE(rotate_alike(frequencies_of(always_short, {}), frequencies_of(phi, 1)));
  EXPECT_TRUE(rotate_alike(frequencies_of(always_long, 1), frequencies_of(phi, 131072)));
  EXPECT_EQ(frequencies_of(always_long, 1).contexts, ContextRange{});
}

TEST(LongRopeRule, RefusesAMissingContextAndAFactorOfZero) {
  expect_refused(phi, {"context_tokens must be given", "longrope", "got none"});
  auto rule = phi;
  rule.long_factor[7] = 0;
  expect_refused(rule, {"long_factor must be finite and > 0, got 0 for pair 7"}, 1);
}

// head_dim 4, so two pairs.
std::string config_with(std::string_view beside, std::string_view scaling) {
  std::string config = R"({"model_type": "llama", "head_dim": 4, "num_hidden_layers": 1,
      "max_position_embeddings": 131072)";
  config.append(beside).append(R"(, "rope_scaling": {"short_factor": [1, 1.5],)");
  return config.append(R"( "long_factor": [1, 8], )").append(scaling).append("}}");
}

LongRopeScaling resolved_rule(const std::string& config) {
  return std::get<LongRopeScaling>(test::resolved_rotary(config).scaling);
}

TEST(LongRopeRule, IsReadFromAConfig) {
  const LongRopeScaling expected{.short_factor = {1, 1.5},
                                 .long_factor = {1, 8},
                                 .original_context_tokens = 4096,
                                 .factor = 32};
  constexpr std::string_view beside = R"(, "original_max_position_embeddings": 4096)";
  constexpr std::string_view inside = R"(, "original_max_position_embeddings": 4096)";
  EXPECT_EQ(resolved_rule(config_with(beside, R"("type": "longrope")")), expected);
  EXPECT_EQ(resolved_rule(config_with(beside, R"("type": "su")")), expected);  // Phi-3, April 2024
  EXPECT_EQ(resolved_rule(config_with("", R"("rope_type": "longrope")" + std::string(inside))),
            expected);
  const auto phimoe = resolved_rule(
      config_with(beside, R"("type": "longrope", "short_mscale": 1.25, "long_mscale": 1.125)"));
  EXPECT_EQ(phimoe.short_mscale, 1.25);
  EXPECT_EQ(phimoe.long_mscale, 1.125);
}

TEST(LongRopeRule, AConfigsFactorReplacesTheRatioWithAWarning) {
  constexpr std::string_view beside = R"(, "original_max_position_embeddings": 4096)";
  const auto other = test::resolved(config_with(beside, R"("type": "longrope", "factor": 16)"));
  EXPECT_EQ(std::get<LongRopeScaling>(other.rotary.front().spec.scaling).factor, 16);
  EXPECT_TRUE(test::warns(other, "factor 16 is not max_position_embeddings"));
  EXPECT_TRUE(
      test::resolved(config_with(beside, R"("type": "su", "factor": 32)")).warnings.empty());
  test::malformed(R"({"model_type": "llama", "head_dim": 4, "rope_scaling": {
      "type": "longrope", "short_factor": [1, 1], "long_factor": [1, 1],
      "original_max_position_embeddings": 4096}})",
                  {"factor must be given", "max_position_embeddings"});
}

TEST(LongRopeRule, TheSwitchIsNotAKeyOfAConfig) {
  test::not_supported(config_with("", R"("type": "longrope", "switch": "always_long")"),
                      {"switch is not a key of rope_type 'longrope'"});
}

// Phi-3's "yarn" has LongRoPE's lists and YaRN's attention factor.
TEST(LongRopeRule, Phi3sYarnIsLongRope) {
  constexpr std::string_view rest =
      R"("head_dim": 4, "num_hidden_layers": 1, "max_position_embeddings": 131072,
         "original_max_position_embeddings": 4096, "rope_scaling":
         {"type": "yarn", "short_factor": [1, 1.5], "long_factor": [1, 8]}})";
  const ModelSpec model = test::resolved(R"({"model_type": "phi3", )" + std::string(rest));
  const auto rule = std::get<LongRopeScaling>(model.rotary.front().spec.scaling);
  EXPECT_EQ(rule.long_factor, (std::vector<double>{1, 8}));
  EXPECT_EQ(rule.factor, 32);
  EXPECT_DOUBLE_EQ(rule.attention_factor.value(), 0.1 * std::log(32.0) + 1);
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings.front().find("0.1 ln(factor) + 1"), std::string::npos);
  test::not_supported(R"({"model_type": "llama", )" + std::string(rest),
                      {"long_factor is not a key of rope_type 'yarn'"});
}

}  // namespace
}  // namespace rotary
