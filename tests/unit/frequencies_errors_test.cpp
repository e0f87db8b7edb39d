// SPDX-License-Identifier: Apache-2.0
// Every requirement stated in scaling.hpp, rotary_spec.hpp and frequencies.hpp, broken once.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "rotary/frequencies.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

RotarySpec spec_with(double base, const Scaling& scaling) {
  return {.head_dim = 64, .base = base, .pairing = Pairing::half, .scaling = scaling};
}

void expect_refused(const RotarySpec& spec, std::initializer_list<std::string_view> parts) {
  EXPECT_TRUE(test::fails(make_frequencies(spec), ErrorCode::invalid_argument, parts));
}

// rule(value) for every value that is not finite and > 0.
template <class Rule>
void expect_positive(std::string_view field, Rule rule) {
  for (const double value : {0.0, -1.0, nan, infinity, -infinity}) {
    SCOPED_TRACE(std::string(field) + " " + std::to_string(value));
    expect_refused(spec_with(10000, rule(value)), {field, "> 0", "got"});
  }
}

TEST(FrequenciesErrors, Base) {
  for (const double base : {nan, infinity, -infinity, 1.0, 0.5, 0.0, -10000.0}) {
    expect_refused(spec_with(base, NoScaling{}), {"base", "finite and > 1", "got"});
  }
  expect_refused(spec_with(nan, NoScaling{}), {"nan"});
  expect_refused(spec_with(0.5, NoScaling{}), {"0.5"});
}

TEST(FrequenciesErrors, WindowOfTheSpec) {
  RotarySpec spec = spec_with(10000, NoScaling{});
  spec.rotary_dim = 63;
  expect_refused(spec, {"rotary_dim must be even", "got 63"});
  spec.rotary_dim = 66;
  expect_refused(spec, {"rotary_dim", "64", "got 66"});
}

TEST(FrequenciesErrors, Linear) {
  expect_positive("factor", [](double value) { return LinearScaling{.factor = value}; });
}

TEST(FrequenciesErrors, Ntk) {
  expect_positive("alpha", [](double value) { return NtkScaling{.alpha = value}; });
  RotarySpec one_pair = spec_with(10000, NtkScaling{.alpha = 2});
  one_pair.rotary_dim = 2;
  expect_refused(one_pair, {"rotary_dim >= 4", "got 2"});
  expect_refused(spec_with(1e200, NtkScaling{.alpha = 1e200}), {"alpha", "base"});
  expect_refused(spec_with(2, NtkScaling{.alpha = 1e-3}), {"alpha", "base"});
}

YarnScaling yarn() { return {.factor = 4, .original_context_tokens = 4096}; }

template <class Value>
YarnScaling yarn_with(Value YarnScaling::*member, Value value) {
  YarnScaling rule = yarn();
  rule.*member = value;
  return rule;
}

TEST(FrequenciesErrors, Yarn) {
  expect_positive("factor", [](double v) { return yarn_with(&YarnScaling::factor, v); });
  expect_positive("beta_slow", [](double v) { return yarn_with(&YarnScaling::beta_slow, v); });
  for (const std::int64_t context : {0, -1}) {
    expect_refused(spec_with(10000, yarn_with(&YarnScaling::original_context_tokens, context)),
                   {"original", "> 0", "got " + std::to_string(context)});
  }
  expect_refused(spec_with(10000, yarn_with(&YarnScaling::beta_fast, 0.5)),
                 {"beta_fast must be >= beta_slow", "0.5", "1"});
  expect_refused(spec_with(10000, yarn_with(&YarnScaling::beta_fast, nan)), {"beta_fast", "nan"});
  expect_refused(spec_with(10000, yarn_with(&YarnScaling::beta_fast, infinity)),
                 {"beta_fast", "inf"});
  expect_refused(spec_with(10000, yarn_with(&YarnScaling::ramp, static_cast<YarnRamp>(7))),
                 {"ramp", "7"});
}

TEST(FrequenciesErrors, YarnAttentionFactor) {
  using Given = std::optional<double>;
  for (const double value : {0.0, -1.0, nan, infinity}) {
    expect_refused(spec_with(10000, yarn_with(&YarnScaling::attention_factor, Given(value))),
                   {"attention_factor", "got"});
  }
  YarnScaling rule = yarn();
  rule.mscale = nan;
  rule.mscale_all_dim = 1;
  expect_refused(spec_with(10000, rule), {"mscale", "nan"});
  rule.mscale = -1000;  // 0.1 m ln 4 + 1 < 0
  expect_refused(spec_with(10000, rule), {"attention_factor", "got"});
}

TEST(FrequenciesErrors, Llama3) {
  const Llama3Scaling good{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context_tokens = 8192};
  const auto with = [&](auto member, auto value) {
    Llama3Scaling rule = good;
    rule.*member = value;
    return rule;
  };
  expect_positive("factor", [&](double v) { return with(&Llama3Scaling::factor, v); });
  expect_positive("low_freq_factor",
                  [&](double v) { return with(&Llama3Scaling::low_freq_factor, v); });
  expect_positive("high_freq_factor",
                  [&](double v) { return with(&Llama3Scaling::high_freq_factor, v); });
  expect_refused(spec_with(10000, with(&Llama3Scaling::high_freq_factor, 0.5)),
                 {"high_freq_factor must be >= low_freq_factor", "0.5"});
  expect_refused(spec_with(10000, with(&Llama3Scaling::original_context_tokens, std::int64_t{0})),
                 {"original", "> 0", "got 0"});
}

TEST(FrequenciesErrors, ExplicitList) {
  const HeadWindow window{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::half};
  const auto refused = [&](const std::vector<double>& list, double factor,
                           std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(
        test::fails(make_frequencies(window, list, factor), ErrorCode::invalid_argument, parts));
  };
  refused({1}, 1, {"one", "each pair", "2", "got 1"});
  refused({1, 1, 1}, 1, {"2", "got 3"});
  refused({}, 1, {"2", "got 0"});
  for (const double bad : {nan, infinity, -1.0, 0x1p40}) refused({1, bad}, 1, {"inv_freq", "got"});
  for (const double bad : {nan, infinity, -infinity, -1.0, 0.0, 0x1p-21, 0x1p21}) {
    refused({1, 1}, bad, {"attention_factor", "got"});
  }
}

TEST(FrequenciesErrors, ExplicitListWithABrokenWindow) {
  const HeadWindow odd{
      .head_dim = 4, .rotary_dim = 3, .first_feature = 0, .pairing = Pairing::half};
  EXPECT_TRUE(test::fails(make_frequencies(odd, {1}, 1), ErrorCode::invalid_argument,
                          {"rotary_dim must be even", "got 3"}));
  const HeadWindow outside{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 2, .pairing = Pairing::half};
  EXPECT_TRUE(test::fails(make_frequencies(outside, {1, 1}, 1), ErrorCode::invalid_argument,
                          {"rotary_dim", "got 4"}));
}

// Frequencies that leave double (a linear factor of 1e-300) are an error, not an infinity.
TEST(FrequenciesErrors, ResultOutsideTheLegalRange) {
  expect_refused(spec_with(10000, LinearScaling{.factor = 1e-300}), {"inv_freq", "got"});
}

}  // namespace
}  // namespace rotary
