// SPDX-License-Identifier: Apache-2.0
// Effects of positions: shifting all of them changes nothing under a relative encoding. A
// permutation of tokens permutes the result only in bidirectional attention without positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/attention.hpp"
#include "rotary/absolute.hpp"
#include "support/attention/calls.hpp"
#include "support/attention/samples.hpp"
#include "support/result.hpp"

namespace rotary::reference {
namespace {

using test::AttentionShape;
using test::EncodingSample;
using test::largest_difference;
using test::MaskSample;

AttentionResult shifted(const AttentionInputs& inputs, Attention given, std::int64_t shift) {
  const test::PositionLists at = test::position_lists(inputs, given);
  given.query_positions = at.queries;
  given.key_positions = at.keys;
  for (std::int64_t& position : given.query_positions) position += shift;
  for (std::int64_t& position : given.key_positions) position += shift;
  return attention(inputs, given);
}

bool is_key_position(const EncodingSample& encoding) {
  return encoding.name == "alibi key_position";
}

// q' and k' are each within 2^-52 of exact. A score sums 8 products below 2 and loses 2^-53 of it
// in each addition: below 2^-47. Two scores differ by 2^-46, their weights by twice that, relative,
// and an output, a mean of numbers below 2, by 2^-44. ALiBi's m j also rounds a score of m (shift +
// 5), with m below 1/4 for 3 heads.
double bound(const EncodingSample& encoding, std::int64_t shift) {
  const double far = std::abs(static_cast<double>(shift)) + 5;
  return 0x1p-44 + (is_key_position(encoding) ? 0x1p-51 * far / 4 : 0);
}

TEST(AttentionProperties, AShiftOfAllPositionsChangesNothing) {
  for (const AttentionShape& shape : test::attention_shapes) {
    const AttentionInputs inputs = test::random_inputs(shape, 20);
    for (const MaskSample& mask : test::attention_masks()) {
      for (EncodingSample& encoding : test::attention_encodings(shape)) {
        const Attention given = test::with_encoding(mask, encoding);
        const bool xpos = given.encoding.rotary && given.encoding.rotary->xpos;
        const AttentionResult here = shifted(inputs, given, 0);
        for (const std::int64_t shift :
             {std::int64_t{1}, -std::int64_t{17}, std::int64_t{500}, std::int64_t{1} << 31,
              -(std::int64_t{1} << 31), (std::int64_t{1} << 40) + 3, std::int64_t{1} << 61}) {
          SCOPED_TRACE(mask.name + ", " + encoding.name + ", " + std::to_string(shift));
          if (std::abs(shift) > 500 && (xpos || encoding.name == "fire")) continue;
          if (std::abs(shift) > std::int64_t{1} << 40 && is_key_position(encoding)) continue;
          const AttentionResult there = shifted(inputs, given, shift);
          ASSERT_LE(largest_difference(here.weights, there.weights), bound(encoding, shift));
          ASSERT_LE(largest_difference(here.out.values, there.out.values), bound(encoding, shift));
        }
      }
    }
  }
}

// Above the threshold, FIRE's normaliser follows the query.
TEST(AttentionProperties, FireIsShiftInvariantBelowItsThresholdOnly) {
  const AttentionShape shape;
  const AttentionInputs inputs = test::random_inputs(shape, 21);
  for (const EncodingSample& encoding : test::attention_encodings(shape)) {
    if (encoding.name != "fire") continue;
    const Attention given = test::with_encoding(test::attention_masks()[1], encoding);
    const AttentionResult here = shifted(inputs, given, 0);
    EXPECT_LE(largest_difference(here.weights, shifted(inputs, given, 508).weights), 0x1p-44);
    EXPECT_GT(largest_difference(here.weights, shifted(inputs, given, 5000).weights), 1e-3);
  }
}

TEST(AttentionProperties, XposIsShiftInvariantIfItsCenterMovesToo) {
  const AttentionShape shape;
  const AttentionInputs inputs = test::random_inputs(shape, 22);
  Attention given =
      test::with_encoding(test::attention_masks()[1], test::attention_encodings(shape)[4]);
  const AttentionResult here = shifted(inputs, given, 0);
  given.encoding.rotary->xpos->center += 0x1p31;
  const AttentionResult there = shifted(inputs, given, std::int64_t{1} << 31);
  EXPECT_LE(largest_difference(here.weights, there.weights), 0x1p-44);
}

const std::vector<std::size_t> permutation = {2, 0, 4, 1, 3};

// Token i of the result is token permutation[i], in every batch row.
Heads permuted(const Heads& heads) {
  const auto token = static_cast<std::size_t>(heads.extents.heads * heads.extents.features);
  Heads result = heads;
  for (std::size_t i = 0; i < heads.values.size(); ++i) {
    const std::size_t t = i / token;
    const std::size_t row = t / permutation.size() * permutation.size();
    result.values[i] = heads.values[(row + permutation[t - row]) * token + i % token];
  }
  return result;
}

AttentionInputs permuted(const AttentionInputs& inputs) {
  return {permuted(inputs.q), permuted(inputs.k), permuted(inputs.v)};
}

// The largest difference between attention to permuted tokens and permuted attention.
double change(const AttentionInputs& inputs, const AttentionInputs& of_permuted,
              const Attention& given) {
  const Heads expected = permuted(attention(inputs, given).out);
  return largest_difference(expected.values, attention(of_permuted, given).out.values);
}

double change(const AttentionInputs& inputs, const Attention& given) {
  return change(inputs, permuted(inputs), given);
}

constexpr AttentionShape square{.queries = 5};

// Only the order of sums differs: 2^-50.
TEST(AttentionProperties, APermutationPermutesTheResultWithoutPositions) {
  EXPECT_LE(change(test::random_inputs(square, 23), {.scale = 0.5}), 0x1p-50);
}

TEST(AttentionProperties, CausalOrderAndEveryEncodingTellTokensApart) {
  const AttentionInputs inputs = test::random_inputs(square, 24);
  EXPECT_GT(change(inputs, {.mask = {.order = Order::causal}}), 1e-2);
  for (const EncodingSample& encoding : test::attention_encodings(square)) {
    if (encoding.name == "none" || encoding.name == "shaw without window") continue;
    EXPECT_GT(change(inputs, {.encoding = encoding.encoding}), 1e-3) << encoding.name;
  }
}

// An empty window has one vector for all distances; softmax removes the constant that it adds.
TEST(AttentionProperties, OneVectorForAllDistancesChangesNothing) {
  const auto all = test::attention_encodings(square);
  const auto found = std::ranges::find(all, "shaw without window", &EncodingSample::name);
  ASSERT_NE(found, all.end());
  const EncodingSample& one = *found;
  EXPECT_LE(change(test::random_inputs(square, 25), {.encoding = one.encoding}), 0x1p-49);
}

// Results are permuted if positions move with their tokens, except under CoPE, whose positions sum
// over keys in order.
TEST(AttentionProperties, PermutedPositionsPermuteTheResult) {
  const AttentionInputs inputs = test::random_inputs(square, 26);
  const AttentionInputs moved = permuted(inputs);
  for (const EncodingSample& encoding : test::attention_encodings(square)) {
    if (!encoding.encoding.cope.empty()) continue;
    Attention given{.mask = {.order = Order::causal, .left = 2}, .encoding = encoding.encoding};
    const Heads expected = permuted(attention(inputs, given).out);
    for (int row = 0; row < 2; ++row) {
      for (const std::size_t token : permutation) {
        given.query_positions.push_back(static_cast<std::int64_t>(token));
        given.key_positions.push_back(static_cast<std::int64_t>(token));
      }
    }
    EXPECT_LE(largest_difference(expected.values, attention(moved, given).out.values), 0x1p-44)
        << encoding.name;
  }
}

AttentionInputs with_absolute_positions(AttentionInputs inputs) {
  for (Heads* heads : {&inputs.q, &inputs.k}) {
    const Extents& n = heads->extents;
    const std::int64_t dim = n.heads * n.features;
    const TokenExtents tokens{.batch = n.batch, .tokens = n.tokens, .features = dim};
    const TokensView view{heads->values.data(), DType::f64, tokens, strides_btd(tokens)};
    const auto sinusoidal = test::value_of(make_sinusoidal(transformer_sinusoidal(dim)));
    test::require(add_sinusoidal(view, view, sinusoidal, ConsecutivePositions{.tokens = n.tokens}));
  }
  return inputs;
}

TEST(AttentionProperties, AbsoluteEncodingsTellTokensApart) {
  const AttentionInputs inputs = test::random_inputs(square, 27);
  const AttentionInputs moved = permuted(inputs);
  EXPECT_GT(change(with_absolute_positions(inputs), with_absolute_positions(moved), {}), 1e-2);
}

}  // namespace
}  // namespace rotary::reference
