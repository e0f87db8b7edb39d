// SPDX-License-Identifier: Apache-2.0
// Tests which layers, fields and rows of two models count as differences.
#include "rotary/model_difference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rotary/spec_json.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

RotarySpec plain_spec() { return {.head_dim = 64, .base = 10000.0, .pairing = Pairing::half}; }

ModelSpec model_of(RotarySpec spec, std::size_t layers = 2) {
  ModelSpec model;
  model.rotary.push_back({.layer_type = {}, .spec = std::move(spec), .trained_context_tokens = {}});
  model.rotary.front().trained_context_tokens = 4096;
  model.layers.resize(layers);
  return model;
}

RowsDifference rows_of(const RotarySpec& one, const RotarySpec& other) {
  return test::value_of(compare_models(model_of(one), model_of(other))).rotary.front().rows;
}

const FieldDifference* field_named(const std::vector<FieldDifference>& fields,
                                   std::string_view name) {
  const auto found = std::ranges::find(fields, name, &FieldDifference::field);
  return found == fields.end() ? nullptr : &*found;
}

TEST(ModelDifference, EqualModelsDoNotDiffer) {
  const auto found = test::value_of(compare_models(model_of(plain_spec()), model_of(plain_spec())));
  EXPECT_FALSE(found.differs());
  EXPECT_EQ(found.context_tokens, 4096);
  ASSERT_EQ(found.rotary.size(), 1U);
  EXPECT_EQ(found.rotary.front().layers, (std::vector<std::int64_t>{0, 1}));
  EXPECT_TRUE(found.rotary.front().fields.empty());
  EXPECT_FALSE(found.rotary.front().rows.first_position);
}

TEST(ModelDifference, ABaseOffByAFloat32RoundingIsNoDifference) {
  RotarySpec other = plain_spec();
  other.base = 10000.0 * (1 + 0x1p-24);
  const auto found = test::value_of(compare_models(model_of(plain_spec()), model_of(other)));
  EXPECT_FALSE(found.differs());
  const auto* const base = field_named(found.rotary.front().fields, "base");
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(base->effect, FieldEffect::rows);
}

TEST(ModelDifference, RulesThatGiveTheSameRowsDoNotDiffer) {
  RotarySpec other = plain_spec();
  std::vector<double> inv_freq;
  for (int i = 0; i < 32; ++i) inv_freq.push_back(std::pow(10000.0, -i / 32.0));
  other.scaling = ExplicitScaling{.inv_freq = inv_freq};
  const auto found = test::value_of(compare_models(model_of(plain_spec()), model_of(other)));
  EXPECT_FALSE(found.differs());
  EXPECT_NE(field_named(found.rotary.front().fields, "rope_type"), nullptr);
}

TEST(ModelDifference, AnotherPairingRotatesOtherFeatures) {
  RotarySpec other = plain_spec();
  other.pairing = Pairing::interleaved;
  const RowsDifference rows = rows_of(plain_spec(), other);
  EXPECT_FALSE(rows.same_features);
  EXPECT_EQ(rows.first_position, 1);
  EXPECT_NEAR(rows.at_first, std::sin(1.0), 0x1p-50);  // pair 0 has another second feature
  EXPECT_FALSE(rows.largest_score_change);
}

TEST(ModelDifference, AnotherOrderOfTheSamePairsIsNoDifference) {
  RotarySpec one = plain_spec();
  one.pairing = Pairing::interleaved;
  RotarySpec other = one;
  other.pairing = Pairing::interleaved_to_half;
  const RowsDifference rows = rows_of(one, other);
  EXPECT_TRUE(rows.same_features);
  EXPECT_FALSE(rows.first_position);
  EXPECT_EQ(rows.largest_score_change, 0.0);
  EXPECT_EQ(rows.least_correlation, 1);
}

// Configs define latent attention with interleaved_to_half, GGUF files with interleaved.
TEST(ModelDifference, LatentAttentionInConfigsAndGgufIsNoDifference) {
  for (const std::string_view family :
       {"deepseek_v3", "kimi_k2", "glm4_moe_lite", "glm_moe_dsa", "longcat_flash", "mistral4"}) {
    SCOPED_TRACE(family);
    const std::string config =
        R"({"model_type": ")" + std::string(family) +
        R"(", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
            "num_layers": 1, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
            "max_position_embeddings": 163840, "rope_theta": 10000,
            "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1,
                             "original_max_position_embeddings": 4096}})";
    const ModelSpec one = test::value_of(resolve(config));
    ASSERT_EQ(one.rotary.front().spec.pairing, Pairing::interleaved_to_half);
    ModelSpec other = one;
    other.rotary.front().spec.pairing = Pairing::interleaved;
    const auto found = test::value_of(compare_models(one, other));
    EXPECT_FALSE(found.differs());
    EXPECT_EQ(found.rotary.front().fields.front().effect, FieldEffect::nothing);
    other.rotary.front().spec.pairing = Pairing::half;
    EXPECT_TRUE(test::value_of(compare_models(one, other)).differs());
  }
}

TEST(ModelDifference, ASmallerRotaryDimIsADifference) {
  RotarySpec other = plain_spec();
  other.rotary_dim = 32;
  const RowsDifference rows = rows_of(plain_spec(), other);
  EXPECT_FALSE(rows.same_features);
  EXPECT_EQ(rows.first_position, 1);
}

TEST(ModelDifference, HeadsOfDifferentSizesAreNotComparable) {
  RotarySpec other = plain_spec();
  other.head_dim = 128;
  const auto found = test::value_of(compare_models(model_of(plain_spec()), model_of(other)));
  EXPECT_TRUE(found.differs());
  EXPECT_EQ(found.rotary.front().not_comparable,
            "heads of 64 and of 128 features have no rows in common");
}

TEST(ModelDifference, TheAttentionFactorShowsAtPositionZero) {
  RotarySpec one = plain_spec();
  one.scaling = YarnScaling{.factor = 4, .original_context_tokens = 1024, .attention_factor = 1.5};
  RotarySpec other = one;
  std::get<YarnScaling>(other.scaling).attention_factor = 1.25;
  const RowsDifference rows = rows_of(one, other);
  EXPECT_EQ(rows.first_position, 0);
  EXPECT_DOUBLE_EQ(rows.at_first, 0.25);
  EXPECT_DOUBLE_EQ(*rows.largest_score_change, 1.5 * 1.5 - 1.25 * 1.25);
  EXPECT_EQ(rows.least_correlation, 1);
}

// A generation crosses LongRoPE's original context. An engine that chooses a list for the entire
// context has the long list from the start.
TEST(ModelDifference, AListChosenForTheWholeContextDiffersFromTheStart) {
  RotarySpec spec = plain_spec();
  spec.scaling = LongRopeScaling{.short_factor = std::vector<double>(32, 1.0),
                                 .long_factor = std::vector<double>(32, 4.0),
                                 .original_context_tokens = 1024,
                                 .factor = 4};
  const ComparisonOptions once{.one = LengthPolicy::each_call,
                               .other = LengthPolicy::whole_context};
  const auto found = test::value_of(compare_models(model_of(spec), model_of(spec), once));
  EXPECT_EQ(found.rotary.front().rows.first_position, 1);
  RotarySpec always_short = spec;
  std::get<LongRopeScaling>(always_short.scaling).lists = LongRopeSwitch::always_short;
  EXPECT_EQ(rows_of(spec, always_short).first_position, 1024);
}

TEST(ModelDifference, AKeptLengthMakesLaterCallsDiffer) {
  RotarySpec spec = plain_spec();
  spec.scaling = DynamicNtkScaling{.factor = 2, .original_context_tokens = 1024};
  const ComparisonOptions options{.one = LengthPolicy::kept_above_trained,
                                  .other = LengthPolicy::last_long_call};
  const auto found = test::value_of(compare_models(model_of(spec), model_of(spec), options));
  const RotaryDifference& pair = found.rotary.front();
  EXPECT_FALSE(pair.rows.first_position);
  ASSERT_TRUE(pair.after_longer_call);
  EXPECT_TRUE(pair.after_longer_call->first_position);
  EXPECT_TRUE(found.differs());
}

TEST(ModelDifference, LayersWithoutPositionsAreNamed) {
  ModelSpec other = model_of(plain_spec(), 4);
  for (const std::size_t layer : {1U, 2U}) other.layers[layer].encoding = LayerEncoding::none;
  const auto found = test::value_of(compare_models(model_of(plain_spec(), 4), other));
  ASSERT_EQ(found.fields.size(), 1U);
  EXPECT_EQ(found.fields.front().field, "layers 1-2");
  EXPECT_EQ(found.fields.front().one, "rotary");
  EXPECT_EQ(found.fields.front().other, "none");
  EXPECT_EQ(found.rotary.front().layers, (std::vector<std::int64_t>{0, 3}));
  EXPECT_TRUE(found.differs());
}

TEST(ModelDifference, RefusesInvalidContextsAndHeads) {
  const ModelSpec model = model_of(plain_spec());
  EXPECT_EQ(compare_models(model, model, {.context_tokens = 0}).error().message,
            "context_tokens must be from 1 to 2^31, got 0");
  const auto wide = test::value_of(
      make_frequencies({.head_dim = 128, .base = 10000.0, .pairing = Pairing::half}));
  const auto narrow = test::value_of(make_frequencies(plain_spec()));
  EXPECT_EQ(compare_rows(wide, narrow, 16).error().message,
            "head_dim must be that of the other, 128, got 64");
}

TEST(ModelDifference, NanEqualsNothingAndInfinityOnlyItself) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto differs = [](const auto& change, double one, double other) {
    std::array<ModelSpec, 2> models = {model_of(plain_spec()), model_of(plain_spec())};
    change(models[0], one);
    change(models[1], other);
    return test::value_of(compare_models(models[0], models[1])).differs();
  };
  using Change = void (*)(ModelSpec&, double);
  constexpr std::array<Change, 7> changes = {
      [](ModelSpec& model, double number) { model.softcap = number; },
      [](ModelSpec& model, double number) { model.rotary.front().softmax_factor = number; },
      [](ModelSpec& model, double number) {
        model.layers[1].query_temperature = StepTemperature{number, 4096};
      },
      [](ModelSpec& model, double number) {
        model.layers[0].query_temperature = PowerTemperature{number, 4096};
      },
      [](ModelSpec& model, double number) {
        model.sinusoidal = transformer_sinusoidal(64);
        model.sinusoidal->base = number;
      },
      [](ModelSpec& model, double number) {
        model.relative_bias = Sandwich{4, number};
      },
      [](ModelSpec& model, double number) {
        model.relative_bias = KerpleLog{{1, number}, {number, 1}};
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const double other : {1.0, nan, infinity, -infinity}) {
      EXPECT_TRUE(differs(changes[i], nan, other)) << i << ' ' << other;
      EXPECT_TRUE(differs(changes[i], other, nan)) << i << ' ' << other;
      EXPECT_EQ(differs(changes[i], infinity, other), other != infinity) << i << ' ' << other;
      EXPECT_EQ(differs(changes[i], other, -infinity), other != -infinity) << i << ' ' << other;
    }
  }
}

TEST(ModelDifference, RowsOfInvalidFrequenciesAreRefused) {
  const auto right = test::value_of(make_frequencies(plain_spec()));
  for (const double number :
       {std::nan(""), std::numeric_limits<double>::infinity(), -1e300, 0x1p41, -0x1p41}) {
    std::vector<Frequencies> wrong = {right};
    wrong.front().attention_factor = number;
    for (std::size_t i = 0; i < right.inv_freq.size(); ++i) {
      wrong.push_back(right);
      wrong.back().inv_freq[i] = number;
    }
    for (const Frequencies& each : wrong) {
      EXPECT_FALSE(compare_rows(each, right, 16)) << number;
      EXPECT_FALSE(compare_rows(right, each, 16)) << number;
    }
  }
}

// Expected lengths are from releases of Transformers: tests/golden/releases.txt.
TEST(LengthPolicy, AgreesWithTheReleases) {
  constexpr std::array<std::int64_t, 9> calls = {11, 2048, 2049, 4096, 4097, 3001, 2048, 101, 5001};
  using Lengths = std::array<std::int64_t, 9>;
  const auto in_force = [&](LengthPolicy policy) {
    Lengths lengths{};
    for (std::size_t i = 0; i < calls.size(); ++i)
      lengths[i] = test::value_of(length_in_force(policy, 2048, std::span(calls).first(i + 1)));
    return lengths;
  };
  EXPECT_EQ(in_force(LengthPolicy::longest_call),  // 4.33
            (Lengths{2048, 2048, 2049, 4096, 4097, 4097, 4097, 4097, 5001}));
  EXPECT_EQ(in_force(LengthPolicy::last_long_call),  // 4.38 to 4.40, 5.0 to 5.12
            (Lengths{2048, 2048, 2049, 4096, 4097, 3001, 3001, 3001, 5001}));
  EXPECT_EQ(in_force(LengthPolicy::kept_above_trained),  // 4.43 to 4.57, 5.13 on
            (Lengths{2048, 2048, 2049, 4096, 4097, 4097, 4097, 2048, 5001}));
}

// Recorded first positions at which rows differ. conformance/golden/first_positions.py compared
// every row.

nlohmann::json recorded_cases() {
  std::ifstream file(test::source_path("tests/golden/first_positions.json"));
  return nlohmann::json::parse(file).at("cases");
}

RowsDifference difference_of(const nlohmann::json& recorded) {
  const auto frequencies = [&](const char* side) {
    const auto spec = parse_rotary_spec(recorded.at(side).dump());
    return test::value_of(make_frequencies(test::value_of(spec)));
  };
  return test::value_of(compare_rows(frequencies("one"), frequencies("other"),
                                     recorded.at("context_tokens").get<std::int64_t>()));
}

TEST(FirstPositions, AgreeWithASearchOfEveryRow) {
  for (const auto& recorded : recorded_cases()) {
    SCOPED_TRACE(recorded.at("title").get<std::string>());
    const RowsDifference found = difference_of(recorded);
    EXPECT_TRUE(found.same_features);
    const auto& first = recorded.at("first_position");
    ASSERT_EQ(found.first_position.has_value(), !first.is_null());
    if (found.first_position) {
      EXPECT_EQ(*found.first_position, first.get<std::int64_t>());
    }
    EXPECT_EQ(found.pairs, recorded.at("pairs").get<std::vector<std::int64_t>>());
    // The record was made with 80-bit floats. In double, angles below 2^20 err by at most 2^-33.
    const auto expect_near = [&](const char* member, double value) {
      EXPECT_NEAR(value, recorded.at(member).get<double>(), 0x1p-32) << member;
    };
    expect_near("at_first", found.at_first);
    expect_near("largest_angle_error", found.largest_angle_error);
    expect_near("largest_score_change", found.largest_score_change.value_or(-1));
    expect_near("least_correlation", found.least_correlation);
    EXPECT_EQ(found.largest_angle_pair, recorded.at("largest_angle_pair").get<std::int64_t>());
  }
}

}  // namespace
}  // namespace rotary
