// SPDX-License-Identifier: Apache-2.0
// An axis with one index uses no stride, and a view without elements uses none. Unused strides may
// have any value. UndefinedBehaviorSanitizer would find a sum of unused strides that overflows.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "rotary/absolute.hpp"
#include "rotary/cope.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shaw.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
constexpr Strides any_strides{.batch = any, .token = any, .head = any, .feature = any};
constexpr ScoresStrides any_score_strides{.batch = any, .head = any, .query = any, .key = any};

// Two tokens of one head; features are adjacent.
HeadsView heads_of(std::array<float, 8>& elements) {
  return {.data = elements.data(),
          .dtype = DType::f32,
          .extents = {.batch = 1, .tokens = 2, .heads = 1, .features = 4},
          .strides = {.batch = any, .token = 4, .head = any}};
}

TEST(UnusedStrides, AreIgnoredForHeads) {
  const Frequencies frequencies =
      test::frequencies_of({.head_dim = 4, .rotary_dim = 4, .pairing = Pairing::half});
  const ConsecutivePositions positions{.first = 3, .tokens = 2};
  const Rotations rotations = test::rotations_of(frequencies, positions);
  std::array<float, 8> keys = {1, 2, 3, 4, 5, 6, 7, 8};
  std::array<float, 8> cache{};
  test::require(
      append({heads_of(cache)}, {heads_of(keys)}, ConsecutiveSlots{}, {.rotations = &rotations}));
  test::require(rotate(heads_of(keys), heads_of(keys), rotations));
  EXPECT_EQ(cache, keys);
  test::require(normalize_heads(heads_of(cache), heads_of(cache),
                                {.epsilon = 1e-6, .over = NormOver::each_head}));
  const ConsecutivePositions back{.first = 0, .tokens = 2};
  test::require(shift(heads_of(keys), {frequencies, positions}, {frequencies, back}));
  std::array<std::int8_t, 4> elements = {1, 2, 3, 127};
  float scale = 1;
  const QuantizedHeadsView one{.data = elements.data(),
                               .scales = &scale,
                               .extents = {.batch = 1, .tokens = 1, .heads = 1, .features = 4},
                               .strides = {.batch = any, .token = any, .head = any},
                               .scale_strides = {.batch = any, .token = any, .head = any}};
  const ConsecutivePositions here{.first = 0, .tokens = 1};
  test::require(shift(one, {frequencies, here}, {frequencies, here}));
  EXPECT_EQ(elements, (std::array<std::int8_t, 4>{1, 2, 3, 127}));
}

// dim 1 has one feature: a sine, or a cosine in layout cos_then_sin.
TEST(UnusedStrides, AreIgnoredForTokens) {
  const TokenStrides strides{.batch = any, .token = any, .feature = any};
  float x = 0;
  const TokensView view{.data = &x,
                        .dtype = DType::f32,
                        .extents = {.batch = 1, .tokens = 1, .features = 1},
                        .strides = strides};
  for (const auto layout : all_sinusoidal_layouts) {
    const auto sinusoidal = test::value_of(make_sinusoidal(
        {.dim = 1, .base = 10000.0, .layout = layout, .spacing = SinusoidalSpacing::even}));
    x = 7;
    test::require(fill_sinusoidal(view, sinusoidal, ConsecutivePositions{.first = 0, .tokens = 1}));
    EXPECT_EQ(x, layout == SinusoidalLayout::cos_then_sin ? 1 : 0);
  }
  float row = 2;
  const ConstTableView table{&row, DType::f32, 1, 1, any, any};
  const TableRows rows{.indices = ConsecutivePositions{.first = 0, .tokens = 1}};
  test::require(add_learned(view, view, {.table = table, .rows = rows}));
  EXPECT_EQ(x, 3);
  test::require(interpolate_table({&x, DType::f32, 1, 1, any, any}, table, LinearInterpolation{}));
  EXPECT_EQ(x, 2);
}

// Scores of two queries and one key.
ScoresView column_of(std::array<float, 2>& scores) {
  return {.data = scores.data(),
          .dtype = DType::f32,
          .extents = {.batch = 1, .heads = 1, .queries = 2, .keys = 1},
          .strides = {.batch = any, .head = any, .query = 1, .key = any}};
}

TEST(UnusedStrides, AreIgnoredForScores) {
  const Alibi alibi{.heads = 1};
  std::array<float, 2> scores = {5, 5};
  test::require(fill_bias(column_of(scores), alibi, BiasRange{.first_query = 0, .first_key = 0}));
  EXPECT_EQ(scores, (std::array<float, 2>{0, -0x1p-8F}));
  const std::array<std::int64_t, 2> queries = {0, 100};
  const std::array<std::int64_t, 1> keys = {0};
  test::require(
      fill_bias(column_of(scores), alibi, BiasPositions{.queries = queries, .keys = keys}));
  EXPECT_EQ(scores, (std::array<float, 2>{0, -100 * 0x1p-8F}));
  std::array<double, 1> gradient = {0};
  test::require(add_bias_gradient(gradient, alibi, column_of(scores), BiasRange{}));
  EXPECT_EQ(gradient[0], 100 * 0x1p-8);
}

// Queries without features add nothing to scores, whatever the strides of q and the table.
TEST(UnusedStrides, AreIgnoredForQueriesWithoutFeatures) {
  const HeadsView q{.data = nullptr,
                    .dtype = DType::f32,
                    .extents = {.batch = 1, .tokens = 2, .heads = 1, .features = 0},
                    .strides = any_strides};
  const ConstTableView table{nullptr, DType::f32, 3, 0, any, any};
  const ShawTable shaw{.window = {.left = 1, .right = 1}, .table = table};
  std::array<float, 2> scores = {5, 6};
  const BiasRange causal{.first_query = 0, .first_key = 1};
  test::require(add_shaw_scores(column_of(scores), q, shaw, causal));
  test::require(add_shaw_values(q, column_of(scores), shaw, causal));
  test::require(
      add_shaw_gradient({.table = {}, .window = shaw.window}, column_of(scores), q, causal));
  test::require(add_cope(column_of(scores), q, {.table = table}, causal));
  std::array<float, 2> gradients = {0, 0};
  test::require(add_cope_gradient({.scores = column_of(gradients), .q = q, .table = {}},
                                  {.scores = column_of(scores), .q = q}, {.table = table},
                                  column_of(scores), causal));
  EXPECT_EQ(scores, (std::array<float, 2>{5, 6}));
  EXPECT_EQ(gradients, scores);
}

TEST(UnusedStrides, AreIgnoredForScoresWithoutKeys) {
  const ScoresView none{.data = nullptr,
                        .dtype = DType::f64,
                        .extents = {.batch = 2, .heads = 1, .queries = 2, .keys = 0},
                        .strides = any_score_strides};
  std::array<double, 1> gradient = {7};
  test::require(fill_bias(none, Alibi{.heads = 1}, BiasRange{}));
  test::require(add_bias_gradient(gradient, Alibi{.heads = 1}, none, BiasRange{}));
  EXPECT_EQ(gradient[0], 7);
}

}  // namespace
}  // namespace rotary
