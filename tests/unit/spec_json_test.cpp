// SPDX-License-Identifier: Apache-2.0
#include "rotary/spec_json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

void expect_equal(const RotarySpec& actual, const RotarySpec& expected) {
  EXPECT_EQ(actual.head_dim, expected.head_dim);
  EXPECT_EQ(actual.rotary_dim, expected.rotary_dim);
  EXPECT_EQ(actual.first_feature, expected.first_feature);
  EXPECT_EQ(actual.base.get(), expected.base.get());
  EXPECT_EQ(actual.pairing.get(), expected.pairing.get());
  EXPECT_EQ(actual.scaling, expected.scaling);
  EXPECT_EQ(actual.numerics, expected.numerics);
  EXPECT_EQ(actual.rounding, expected.rounding);
  EXPECT_EQ(actual.sense, expected.sense);
  EXPECT_EQ(actual.xpos, expected.xpos);
  EXPECT_EQ(actual.axes, expected.axes);
  EXPECT_EQ(actual.blocks, expected.blocks);
}

TEST(SpecJson, EveryMemberIsReadAndRoundTrips) {
  const RotarySpec spec{.head_dim = 512,
                        .rotary_dim = 64,
                        .first_feature = 448,
                        .base = 10000.5,
                        .pairing = Pairing::interleaved,
                        .scaling = LinearScaling{.factor = 2.5},
                        .sense = Sense::negative,
                        .xpos = Xpos{.scale_base = 1024, .center = -3.5},
                        .numerics = Numerics::transformers,
                        .rounding = Rounding::table};
  expect_equal(value_of(parse_rotary_spec(R"({"scaling": {"rope_type": "linear", "factor": 2.5},
      "pairing": "interleaved", "base": 1.00005e4, "first_feature": 448, "rotary_dim": 64.0,
      "head_dim": 512, "sense": "negative", "xpos": {"center": -3.5, "scale_base": 1024},
      "numerics": "transformers", "rounding": "table"})")),
               spec);
  expect_equal(value_of(parse_rotary_spec(value_of(to_json(spec)))), spec);
  EXPECT_EQ(value_of(to_json({.head_dim = 8, .base = 1e4, .pairing = Pairing::half})),
            R"({"base":10000.0,"head_dim":8,"pairing":"half"})");
}

TEST(SpecJson, AxesAreRead) {
  expect_equal(value_of(parse_rotary_spec(R"({"head_dim": 16, "base": 1e4, "pairing": "half",
      "blocks": 2, "axes": {"pairs": [3, 5.0], "arrangement": "interleaved", "exponents": "own",
      "order": [1, 0], "bases": [100, 2e3], "scales": [0.5, -1]}})")),
               {.head_dim = 16,
                .base = 10000.0,
                .pairing = Pairing::half,
                .axes = Axes{.pairs = {3, 5},
                             .arrangement = AxisArrangement::interleaved,
                             .exponents = AxisExponents::own,
                             .order = {1, 0},
                             .bases = {100, 2000},
                             .scales = {0.5, -1}},
                .blocks = 2});
}

struct ToJsonCall {
  RotarySpec spec{.head_dim = 8, .base = 1e4, .pairing = Pairing::half};

  [[nodiscard]] Result<std::string> run() const { return to_json(spec); }
};

using ToJsonErrors = test::Refusals<ToJsonCall>;

TEST_F(ToJsonErrors, InvalidSpecsAreRefused) {
  refuse(c.spec.base = std::numeric_limits<double>::quiet_NaN(), {"base must be finite, got nan"});
  refuse(c.spec.xpos = Xpos{.scale_base = std::numeric_limits<double>::infinity()},
         {"xpos.scale_base must be finite, got inf"});
  refuse(c.spec.pairing = static_cast<Pairing>(9), {"pairing must be"});
  refuse(c.spec.scaling = YarnScaling{.factor = 2, .original_context_tokens = 9, .beta_slow = 0},
         {"beta_slow must be finite and > 0, got 0"});
}

TEST(SpecJson, EveryNumericsAndRoundingIsRead) {
  const auto with = [](std::string_view key, std::string_view name) {
    std::string text = R"({"head_dim": 64, "base": 10000, "pairing": "half", ")";
    text.append(key).append(R"(": ")").append(name).append(R"("})");
    return value_of(parse_rotary_spec(text));
  };
  for (const Numerics numerics : all_numerics) {
    EXPECT_EQ(with("numerics", to_string(numerics)).numerics, numerics);
  }
  for (const Rounding rounding : all_roundings) {
    EXPECT_EQ(with("rounding", to_string(rounding)).rounding, rounding);
  }
}

TEST(SpecJson, EveryPairingAndSenseIsRead) {
  for (const Pairing pairing : all_pairings) {
    for (const Sense sense : {Sense::positive, Sense::negative}) {
      std::string text = R"({"head_dim": 8, "base": 1e4, "pairing": ")";
      text.append(to_string(pairing)).append(R"(", "sense": ")").append(to_string(sense));
      expect_equal(value_of(parse_rotary_spec(text + "\"}")),
                   {.head_dim = 8, .base = 10000.0, .pairing = pairing, .sense = sense});
    }
  }
}

TEST(SpecJson, XposHasDefaults) {
  expect_equal(
      value_of(parse_rotary_spec(R"({"head_dim": 8, "base": 1e4, "pairing": "half", "xpos": {}})")),
      {.head_dim = 8, .base = 10000.0, .pairing = Pairing::half, .xpos = Xpos{}});
}

}  // namespace
}  // namespace rotary
