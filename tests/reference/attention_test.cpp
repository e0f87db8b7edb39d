// SPDX-License-Identifier: Apache-2.0
// Compares the reference attention with numbers worked out by hand, and tests extreme sizes and
// positions. tests/golden compares all its encodings and masks with torch.
#include "reference/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "reference/linear_attention.hpp"
#include "support/attention/samples.hpp"

namespace rotary::reference {
namespace {

using test::AttentionShape;
using test::EncodingSample;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

bool all_finite(const std::vector<double>& values) {
  for (const double value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

TEST(ReferenceAttention, AgreesWithTheFormulaByHand) {
  const Extents one{.tokens = 1, .heads = 1, .features = 2};
  const AttentionInputs inputs{.q = {one, {2, 1}},
                               .k = {{.tokens = 3, .heads = 1, .features = 2}, {1, 0, 0, 1, 1, 1}},
                               .v = {{.tokens = 3, .heads = 1, .features = 1}, {1, 10, 100}}};
  const AttentionResult got = attention(inputs, {.scale = 0.5});
  const double sum = std::exp(1) + std::exp(0.5) + std::exp(1.5);
  EXPECT_NEAR(got.log_sum_exp[0], std::log(sum), 1e-15);
  EXPECT_NEAR(got.weights[1], std::exp(0.5) / sum, 1e-15);
  EXPECT_NEAR(got.out.values[0], (std::exp(1) + 10 * std::exp(0.5) + 100 * std::exp(1.5)) / sum,
              1e-13);
}

// The cap bends only the scaled score. Added numbers are not capped, so -Inf still masks. A query
// that sees no key gives zeros.
TEST(ReferenceAttention, CapsScaledScoresBeforeItAddsAndMasks) {
  const Extents one{.tokens = 1, .heads = 1, .features = 1};
  const Extents three{.tokens = 3, .heads = 1, .features = 1};
  const AttentionInputs inputs{{one, {2}}, {three, {6, -1, 5}}, {three, {1, 10, std::nan("")}}};
  Attention given{.scale = 0.5, .softcap = 1.5, .mask = {.numbers = {-0.25, 3, -infinity}}};
  const AttentionResult got = attention(inputs, given);
  const double first = std::exp(1.5 * std::tanh(6 / 1.5) - 0.25);
  const double second = std::exp(3 - 1.5 * std::tanh(1 / 1.5));
  EXPECT_NEAR(got.log_sum_exp[0], std::log(first + second), 1e-15);
  EXPECT_NEAR(got.out.values[0], (first + 10 * second) / (first + second), 1e-14);
  given.mask.pairs = {0, 1, 1};
  EXPECT_EQ(attention(inputs, given).out.values[0], 10);
  given.mask.pairs = {0, 0, 1};
  const AttentionResult none = attention(inputs, given);
  EXPECT_EQ(none.out.values[0], 0);
  EXPECT_EQ(none.log_sum_exp[0], -infinity);
}

// The scale multiplies Shaw's product but not a bias. The query is at the last key's position, so
// the scores are ln 4, ln 2 and ln 1.
TEST(ReferenceAttention, ScalesShawsProductAndNoBias) {
  const Extents one{.tokens = 1, .heads = 1, .features = 1};
  const Extents three{.tokens = 3, .heads = 1, .features = 1};
  const AttentionInputs inputs{{one, {1}}, {three, {0, 0, 0}}, {three, {0, 0, 0}}};
  Attention given{.scale = 0.25};
  const double ln2 = std::log(2.0);
  given.encoding.shaw_keys = ShawVectors{{2, 0}, {8 * ln2, 4 * ln2, 0}};
  const AttentionResult shaw = attention(inputs, given);
  given.encoding = {.bias = Alibi{.heads = 1, .slopes = {-ln2}}};  // (i - j) ln 2
  const AttentionResult alibi = attention(inputs, given);
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(shaw.weights[j], 4 / std::exp2(static_cast<double>(j)) / 7, 1e-15) << j;
    EXPECT_NEAR(alibi.weights[j], shaw.weights[j], 1e-15) << j;
  }
}

// Query heads 0 and 1 read key head 0, heads 2 and 3 key head 1.
TEST(ReferenceAttention, NeighbouringQueryHeadsShareAKeyHead) {
  AttentionInputs inputs = test::random_inputs({.batch = 1}, 1);
  const std::size_t v_heads = size(inputs.v.extents.heads * inputs.v.extents.features);
  for (std::size_t i = 0; i < inputs.v.values.size(); ++i)
    inputs.v.values[i] = i % v_heads < v_heads / 2 ? 5 : 6;
  const AttentionResult got = attention(inputs, {});
  const Extents& n = got.out.extents;
  for (std::size_t i = 0; i < got.out.values.size(); ++i) {
    const std::size_t head = i / size(n.features) % size(n.heads);
    EXPECT_NEAR(got.out.values[i], head < 2 ? 5 : 6, 1e-14) << i;
  }
}

// Writes x for each key that the query sees, and a dot for others. By default the query is at
// position 3 and the 6 keys are at 0 to 5.
std::string seen(const Mask& mask, std::int64_t query = 3, std::vector<std::int64_t> keys = {}) {
  const Extents one{.tokens = 1, .heads = 1, .features = 1};
  const Extents six{.tokens = 6, .heads = 1, .features = 1};
  const std::vector<double> zeros(6, 0);
  const AttentionResult got =
      attention({{one, {0}}, {six, zeros}, {six, zeros}},
                {.mask = mask, .query_positions = {query}, .key_positions = std::move(keys)});
  std::string text;
  for (const double weight : got.weights) text += weight > 0 ? 'x' : '.';
  return text;
}

TEST(ReferenceAttention, MasksByPositions) {
  EXPECT_EQ(seen({}), "xxxxxx");
  EXPECT_EQ(seen({.order = Order::causal}), "xxxx..");
  EXPECT_EQ(seen({.left = 1}), "..xxxx");
  EXPECT_EQ(seen({.right = 1}), "xxxxx.");
  EXPECT_EQ(seen({.left = 0, .right = 0}), "...x..");
  EXPECT_EQ(seen({.order = Order::causal, .left = 0}), "...x..");
  EXPECT_EQ(seen({.order = Order::causal, .left = 1, .right = 5}), "..xx..");
  EXPECT_EQ(seen({.order = Order::causal, .left = 0, .sinks = 2}), "xx.x..");
  EXPECT_EQ(seen({.order = Order::causal, .sinks = 6}), "xxxx..");
  EXPECT_EQ(seen({.left = 1, .right = 0, .keys = {1, 1, 0, 1, 1, 1}}), "...x..");
  EXPECT_EQ(seen({.left = 0, .right = 0, .sinks = 1, .keys = {0, 1, 1, 1, 1, 1}}), ".x.x..");
  EXPECT_EQ(seen({.query_documents = {4}, .key_documents = {4, 4, 9, 4, 9, 9}}), "xx.x..");
  EXPECT_EQ(
      seen({.left = 0, .sinks = 1, .query_documents = {4}, .key_documents = {9, 4, 4, 4, 4, 9}}),
      ".x.xx.");
}

TEST(ReferenceAttention, MasksByDistantPositions) {
  const std::int64_t far = std::int64_t{1} << 62;
  const std::int64_t half = std::int64_t{1} << 40;
  const std::vector<std::int64_t> keys = {-far, half - 1, half, 2 * half, 2 * half + 1, far - 1};
  EXPECT_EQ(seen({.order = Order::causal}, 2 * half, keys), "xxxx..");
  EXPECT_EQ(seen({.left = half}, 2 * half, keys), "..xxxx");
  EXPECT_EQ(seen({.left = half - 1}, 2 * half, keys), "...xxx");
  EXPECT_EQ(seen({.right = half}, half, keys), "xxxx..");
  EXPECT_EQ(seen({.right = half + 1}, half, keys), "xxxxx.");
  EXPECT_EQ(seen({.left = far, .right = 1}, far - 2, keys), ".xxxxx");
}

// A query whose scores are NaN must not count as a query without keys.
TEST(ReferenceAttention, NaNDoesNotMask) {
  AttentionInputs inputs = test::random_inputs({.batch = 1}, 7);
  for (double& value : inputs.q.values) value = std::nan("");
  const AttentionResult got = attention(inputs, {});
  for (const double value : got.out.values) ASSERT_TRUE(std::isnan(value));
  EXPECT_TRUE(std::isnan(got.log_sum_exp[0]));
}

// exp(1000) overflows a double.
TEST(ReferenceAttention, LargeScoresDoNotOverflow) {
  AttentionInputs inputs = test::random_inputs({}, 8);
  for (double& value : inputs.q.values) value *= 0x1p40;
  const AttentionResult got = attention(inputs, {});
  EXPECT_TRUE(all_finite(got.out.values) && all_finite(got.log_sum_exp));
}

TEST(ReferenceAttention, ResultsAreFiniteForExtremeSizes) {
  for (const AttentionShape& shape :
       {AttentionShape{.queries = 0, .keys = 0}, AttentionShape{.queries = 0},
        AttentionShape{.keys = 0}, AttentionShape{.batch = 0}, AttentionShape{.heads = 0},
        AttentionShape{.queries = 1, .keys = 1}, AttentionShape{.value_features = 1}}) {
    const AttentionInputs inputs = test::random_inputs(shape, 9);
    for (const EncodingSample& encoding :
         test::attention_encodings({.heads = std::max(shape.heads, std::int64_t{1}),
         .value_features = shape.value_features})) {
      SCOPED_TRACE(encoding.name);
      const Attention given{.mask = {.order = Order::causal, .left = 0, .sinks = 0},
                            .encoding = encoding.encoding};
      const AttentionResult got = attention(inputs, given);
      ASSERT_EQ(got.out.values.size(),
                size(shape.batch * shape.queries * shape.heads * shape.value_features));
      ASSERT_EQ(got.log_sum_exp.size(), size(shape.batch * shape.heads * shape.queries));
      ASSERT_EQ(got.weights.size(), got.log_sum_exp.size() * size(shape.keys));
      ASSERT_TRUE(all_finite(got.out.values));
      for (const double value : got.out.values) ASSERT_TRUE(shape.keys > 0 || value == 0);
    }
  }
}

// With one feature there is no pair to rotate, and each query sees only its own value.
TEST(ReferenceAttention, AWindowOfOneKeyGivesItsValue) {
  const AttentionShape shape{
      .queries = 5, .heads = 3, .key_heads = 3, .features = 1, .value_features = 1};
  const AttentionInputs inputs = test::random_inputs(shape, 10);
  Attention given{.mask = {.left = 0, .right = 0}};
  for (const auto& bias :
       {RelativeBias{Alibi{.heads = 3}}, RelativeBias{Sandwich{.dim = 2, .heads = 3}}}) {
    given.encoding = {.bias = bias, .shaw_keys = ShawVectors{{1, 0}, {3, 4}}, .cope = {1, 2}};
    EXPECT_EQ(attention(inputs, given).out.values, inputs.v.values);
  }
}

TEST(ReferenceAttention, ResultsAreFiniteForExtremePositions) {
  const AttentionShape shape;
  const AttentionInputs inputs = test::random_inputs(shape, 11);
  for (const std::int64_t far : {std::int64_t{1} << 31, std::int64_t{1} << 62}) {
    for (const std::int64_t query : {far - 3, -far + 3}) {
      for (EncodingSample& encoding : test::attention_encodings(shape)) {
        SCOPED_TRACE(encoding.name);
        if (encoding.encoding.rotary && encoding.encoding.rotary->xpos)
          encoding.encoding.rotary->xpos->scale_base = 0x1p62;
        Attention given{.mask = {.left = std::numeric_limits<std::int64_t>::max()},
                        .encoding = encoding.encoding};
        for (std::int64_t t = 0; t < 8; ++t) given.query_positions.push_back(query + t % 4);
        for (const std::int64_t key : {far - 4, -far + 2, std::int64_t{0}, far - 1, -far + 1})
          given.key_positions.push_back(key);
        given.key_positions.insert(given.key_positions.end(), 5, query);
        const AttentionResult got = attention(inputs, given);
        ASSERT_TRUE(all_finite(got.out.values) && all_finite(got.weights));
        ASSERT_TRUE(all_finite(got.log_sum_exp));
      }
    }
  }
}

TEST(ReferenceLinearAttention, EluPlusOneKeepsItsDigitsFarBelowZero) {
  constexpr std::array<long double, 4> x = {-50, -1, 0, 2};
  const auto mapped = map_features(x, EluPlusOne{}, Side::query);
  // e^-50 and e^-1 from Python's decimal with 30 digits.
  constexpr std::array<long double, 4> expected = {1.92874984796391778287e-22L,
                                                   0.36787944117144232160L, 1, 3};
  ASSERT_EQ(mapped.features.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(mapped.features[i] / expected[i] - 1), 0, 0x1p-60) << x[i];
}

}  // namespace
}  // namespace rotary::reference
