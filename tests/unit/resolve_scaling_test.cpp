// SPDX-License-Identifier: Apache-2.0
// Scaling rules under their old and new names, their defaults and warnings; query temperatures.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rotary/query_temperature.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::llama_with;
using test::resolved;
using test::resolved_rotary;
using test::warns;

// {"rope_scaling": {members}} in a llama.
std::string scaled(std::string_view members) {
  return llama_with(R"("rope_scaling": {)" + std::string(members) + "}");
}

Scaling scaling_of(std::string_view members) { return resolved_rotary(scaled(members)).scaling; }

TEST(ResolveScaling, ANullBaseIsTheDefault) {
  EXPECT_EQ(resolved_rotary(llama_with(R"("rope_theta": null)")).base.get(), 10000);
}

TEST(ResolveScaling, TheDictionarysBaseReplacesTheOuterOneWithAWarning) {
  const ModelSpec model = resolved(llama_with(
      R"("rope_theta": 5, "rope_parameters": {"rope_type": "default", "rope_theta": 7})"));
  EXPECT_EQ(model.rotary.front().spec.base.get(), 7);
  EXPECT_TRUE(warns(model, "rope_theta"));
}

TEST(ResolveScaling, TypeMayRepeatRopeType) {
  EXPECT_EQ(scaling_of(R"("rope_type": "linear", "type": "linear", "factor": 4)"),
            Scaling(LinearScaling{.factor = 4}));
}

TEST(ResolveScaling, AbsentAndDefaultRulesMeanNoScaling) {
  for (const std::string_view members :
       {R"("rope_scaling": null)", R"("rope_scaling": {})", R"("rope_parameters": null)",
        R"("rope_scaling": {"rope_type": "default"})", R"("rope_scaling": {"type": "default"})",
        R"("rope_parameters": {"rope_theta": 10000.0})"}) {
    EXPECT_EQ(resolved_rotary(llama_with(members)).scaling, Scaling(NoScaling{})) << members;
  }
}

TEST(ResolveScaling, RopeScalingReplacesRopeParametersWithAWarning) {
  const ModelSpec model =
      resolved(llama_with(R"("rope_scaling": {"rope_type": "linear", "factor": 2},
                             "rope_parameters": {"rope_type": "linear", "factor": 4})"));
  EXPECT_EQ(model.rotary.front().spec.scaling, Scaling(LinearScaling{.factor = 2}));
  EXPECT_TRUE(warns(model, "rope_scaling"));
}

TEST(ResolveScaling, YarnHasDefaults) {
  const Scaling scaling =
      scaling_of(R"("rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2048)");
  EXPECT_EQ(scaling, Scaling(YarnScaling{.factor = 2, .original_context_tokens = 2048}));
}

TEST(ResolveScaling, YarnReadsEveryKey) {
  const Scaling scaling = scaling_of(
      R"("rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 2048,
         "attention_factor": 1.5, "beta_fast": 16, "beta_slow": 2, "mscale": 0.7,
         "mscale_all_dim": 0.8, "truncate": false)");
  EXPECT_EQ(scaling, Scaling(YarnScaling{.factor = 2,
                                         .original_context_tokens = 2048,
                                         .beta_fast = 16,
                                         .beta_slow = 2,
                                         .ramp = YarnRamp::fractional,
                                         .attention_factor = 1.5,
                                         .mscale = 0.7,
                                         .mscale_all_dim = 0.8}));
}

// Transformers computes `beta or default`, so a beta of 0 counts as absent.
TEST(ResolveScaling, YarnTakesABetaOfZeroAsAbsent) {
  const auto rule = std::get<YarnScaling>(scaling_of(
      R"("rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 2048,
         "beta_fast": 0, "beta_slow": 0, "truncate": true)"));
  EXPECT_EQ(rule.beta_fast, 32);
  EXPECT_EQ(rule.beta_slow, 1);
  EXPECT_EQ(rule.ramp, YarnRamp::whole_pairs);
}

// The key `factor` must be present, but may be null. Null means the ratio of the context lengths.
TEST(ResolveScaling, YarnFactorMayBeNull) {
  const auto rule = std::get<YarnScaling>(scaling_of(
      R"("rope_type": "yarn", "factor": null, "original_max_position_embeddings": 1024)"));
  EXPECT_EQ(rule.factor, 4);
}

TEST(ResolveScaling, TheOuterOriginalContextReplacesTheDictionarysWithAWarning) {
  const ModelSpec model =
      resolved(llama_with(R"("original_max_position_embeddings": 512, "rope_scaling":
        {"type": "yarn", "factor": 8, "original_max_position_embeddings": 1024})"));
  EXPECT_EQ(std::get<YarnScaling>(model.rotary.front().spec.scaling).original_context_tokens, 512);
  EXPECT_TRUE(warns(model, "is 1024 among the rope parameters and 512 in the config or its class"));
}

TEST(ResolveScaling, OriginalContextDefaultsToTheTrainedOneWithAWarning) {
  const ModelSpec model = resolved(scaled(R"("type": "yarn", "factor": 8)"));
  EXPECT_EQ(std::get<YarnScaling>(model.rotary.front().spec.scaling).original_context_tokens, 4096);
  EXPECT_TRUE(warns(model, "original_max_position_embeddings"));
}

TEST(ResolveScaling, WarnsWhenLlama3sOriginalContextExceedsTheTrainedOne) {
  EXPECT_TRUE(warns(resolved(scaled(R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
      "high_freq_factor": 4, "original_max_position_embeddings": 8192)")),
                    "original_max_position_embeddings"));
}

TEST(ResolveScaling, WarnsAboutAFactorBelowOne) {
  EXPECT_TRUE(warns(resolved(scaled(R"("type": "linear", "factor": 0.5)")), "factor"));
  EXPECT_FALSE(warns(resolved(scaled(R"("type": "linear", "factor": 1)")), "factor"));
}

TEST(ResolveScaling, IntegersMayBeWrittenAsFloats) {
  EXPECT_EQ(
      std::get<YarnScaling>(
          scaling_of(R"("type": "yarn", "factor": 2, "original_max_position_embeddings": 2048.0)"))
          .original_context_tokens,
      2048);
}

// The factor on a query, compared with numbers worked out by hand from the models' formulas.

TEST(QueryTemperature, NoTemperatureIsAFactorOfOne) {
  EXPECT_EQ(query_factor(NoTemperature{}, 1000000), 1);
}

// Llama 4: log1p(floor((p + 1) / 8192)) * 0.1 + 1, so the first step is at position 8191.
TEST(QueryTemperature, Llama4CountsTheTokenItself) {
  const QueryTemperature rule = StepTemperature{.scale = 0.1, .interval_tokens = 8192, .offset = 1};
  EXPECT_EQ(query_factor(rule, 8190), 1);
  EXPECT_DOUBLE_EQ(query_factor(rule, 8191), 1 + 0.1 * std::log(2.0));
  EXPECT_DOUBLE_EQ(query_factor(rule, 16382), 1 + 0.1 * std::log(2.0));
  EXPECT_DOUBLE_EQ(query_factor(rule, 16383), 1 + 0.1 * std::log(3.0));
}

// Ministral 3: 1 + beta * log(1 + floor(p / L0)), so the first step is at position 16384.
TEST(QueryTemperature, MinistralDoesNotCountTheTokenItself) {
  const QueryTemperature rule =
      StepTemperature{.scale = 0.1, .interval_tokens = 16384, .offset = 0};
  EXPECT_EQ(query_factor(rule, 16383), 1);
  EXPECT_DOUBLE_EQ(query_factor(rule, 16384), 1 + 0.1 * std::log(2.0));
}

// Qwen 1: max(1, log_2048(p + 1)).
TEST(QueryTemperature, LognGrowsBeyondTheTrainedContext) {
  const QueryTemperature rule = LognTemperature{.trained_tokens = 2048};
  EXPECT_EQ(query_factor(rule, 0), 1);
  EXPECT_EQ(query_factor(rule, 2047), 1);
  EXPECT_DOUBLE_EQ(query_factor(rule, 4194303), 2);
}

// Beam: exp(0.1 * log1p((p + 1) / 2048)).
TEST(QueryTemperature, BeamsFactorGrowsAsAPowerOfThePosition) {
  const QueryTemperature rule = PowerTemperature{.exponent = 0.1, .interval_tokens = 2048};
  EXPECT_DOUBLE_EQ(query_factor(rule, 2047), std::pow(2.0, 0.1));
  EXPECT_DOUBLE_EQ(query_factor(rule, 1023 * 2048 - 1), std::pow(1024.0, 0.1));
  EXPECT_TRUE(validate(rule));
  EXPECT_FALSE(validate(PowerTemperature{.exponent = 1.5, .interval_tokens = 2048}));
  EXPECT_FALSE(validate(PowerTemperature{.exponent = NAN, .interval_tokens = 2048}));
  EXPECT_FALSE(validate(PowerTemperature{.exponent = 0.1, .interval_tokens = 0}));
}

TEST(QueryTemperature, TheLargestPositionDoesNotOverflow) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const QueryTemperature rule = StepTemperature{.scale = 1, .interval_tokens = 1, .offset = 1};
  EXPECT_DOUBLE_EQ(query_factor(rule, last), 1 + std::log(0x1p63));
}

}  // namespace
}  // namespace rotary
