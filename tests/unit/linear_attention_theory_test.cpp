// SPDX-License-Identifier: Apache-2.0
// Checks statements of docs/theory/attention.md: the side effects of rotating the numerator alone,
// and how fast random features approach softmax attention.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/attention/linear.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::for_each_element;
using test::HeadIndex;
using test::LinearCase;
using test::Qkv;
using test::Tensor;

void fill_normal(Tensor& tensor, double deviation, std::uint64_t seed) {
  test::Random random(seed);
  for_each_element(tensor.extents(), [&](const HeadIndex& at, std::int64_t f) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    tensor.set(at, f, deviation * radius * std::cos(6.283185307179586 * random.unit()));
  });
}

// With one value feature, v is 1 and out holds the sums of weights. Otherwise v is the identity and
// out is the matrix of weights.
Qkv normal_qkv(const test::LinearShape& shape, double deviation) {
  Qkv qkv = test::random_qkv(shape, 400);
  const std::int64_t v_features = shape.v_features;
  fill_normal(qkv.q, deviation, 401);
  fill_normal(qkv.k, deviation, 402);
  for_each_element(qkv.v.extents(), [&](const HeadIndex& at, std::int64_t f) {
    qkv.v.set(at, f, v_features == 1 || at.token == f ? 1 : 0);
  });
  return qkv;
}

struct Weights {
  double negative = 0;  // the share of negative weights
  double least_sum = 1;
  double largest_sum = -1;
};

Weights weights_of(std::int64_t tokens, std::optional<HeadWindow> window) {
  const LinearCase of{.map = EluPlusOne{}, .mask = LinearMask::bidirectional, .window = window};
  Weights weights;
  const Tensor all =
      test::attended(of, normal_qkv({.tokens = tokens, .head_dim = 64, .v_features = tokens}, 1));
  for_each_element(all.extents(), [&](const HeadIndex& at, std::int64_t f) {
    const auto count = static_cast<double>(tokens * tokens);
    if (all.at(at, f) < 0) weights.negative += 1 / count;
  });
  const Tensor sums = test::attended(
      of, normal_qkv(
              {.tokens = tokens, .heads = 8, .key_heads = 8, .head_dim = 64, .v_features = 1}, 1));
  for_each_element(sums.extents(), [&](const HeadIndex& at, std::int64_t f) {
    weights.least_sum = std::min(weights.least_sum, sums.at(at, f));
    weights.largest_sum = std::max(weights.largest_sum, sums.at(at, f));
  });
  return weights;
}

// RoFormer's eq. 19 with elu + 1, bidirectional, on independent normal q and k of 64 features. The
// expected numbers are from independent code, at 64, 512 and 2048 tokens. Shares of 0, 0.009 and
// 0.087 of the weights were negative. A query's weights summed to 0.50-0.73, 0.26-0.55 and
// 0.13-0.42. The sums here are the least and largest over eight heads.
TEST(LinearAttentionTheory, RotatedNumeratorsGiveNegativeWeightsAndSumsBelowOne) {
  const HeadWindow window{.head_dim = 64, .rotary_dim = 64, .pairing = Pairing::half};
  const Weights few = weights_of(64, window);
  EXPECT_EQ(few.negative, 0);
  EXPECT_NEAR(few.least_sum, 0.50, 0.05);
  EXPECT_NEAR(few.largest_sum, 0.73, 0.05);
  const Weights many = weights_of(512, window);
  EXPECT_NEAR(many.negative, 0.009, 0.003);
  EXPECT_NEAR(many.least_sum, 0.26, 0.05);
  EXPECT_NEAR(many.largest_sum, 0.55, 0.05);
  const Weights most = weights_of(2048, window);
  EXPECT_NEAR(most.negative, 0.087, 0.01);
  EXPECT_NEAR(most.least_sum, 0.13, 0.05);
  EXPECT_NEAR(most.largest_sum, 0.42, 0.05);
  const Weights plain = weights_of(512, std::nullopt);
  EXPECT_EQ(plain.negative, 0);
  EXPECT_NEAR(plain.least_sum, 1, 1e-5);
  EXPECT_NEAR(plain.largest_sum, 1, 1e-5);
}

// The numerator depends on position differences only.
TEST(LinearAttentionTheory, ShiftingAllPositionsChangesNoOutput) {
  LinearCase of{.map = EluPlusOne{},
                .window = HeadWindow{.head_dim = 64, .rotary_dim = 64, .pairing = Pairing::half}};
  const Qkv qkv = normal_qkv({.tokens = 70, .head_dim = 64}, 1);
  const Tensor here = test::attended(of, qkv);
  of.first_position = 1'000'003;
  const Tensor there = test::attended(of, qkv);
  for_each_element(here.extents(), [&](const HeadIndex& at, std::int64_t f) {
    ASSERT_NEAR(here.at(at, f), there.at(at, f), 1e-5);
  });
}

// The root mean square difference between FAVOR+ and softmax attention over all elements.
double error_of_favor(std::int64_t features, std::uint64_t seed) {
  constexpr std::int64_t tokens = 48;
  constexpr double softmax_scale = 0.125;
  Qkv qkv = normal_qkv({.tokens = tokens, .head_dim = 64}, 0.4);
  fill_normal(qkv.v, 1, 403);
  const auto directions =
      test::value_of(make_random_features({.head_dim = 64, .features = features, .seed = seed}));
  const Tensor out = test::attended(
      {.map = PositiveRandomFeatures{directions, softmax_scale}, .mask = LinearMask::bidirectional},
      qkv);
  double squares = 0;
  for (std::int64_t i = 0; i < tokens; ++i) {
    std::vector<double> exact(4);
    double sum = 0;
    for (std::int64_t j = 0; j < tokens; ++j) {
      double score = 0;
      for (std::int64_t f = 0; f < 64; ++f) {
        score += qkv.q.at({.token = i}, f) * qkv.k.at({.token = j}, f);
      }
      const double weight = std::exp(softmax_scale * score);
      sum += weight;
      for (std::int64_t c = 0; c < 4; ++c) {
        exact[static_cast<std::size_t>(c)] += weight * qkv.v.at({.token = j}, c);
      }
    }
    for (std::int64_t c = 0; c < 4; ++c) {
      const double off = out.at({.token = i}, c) - exact[static_cast<std::size_t>(c)] / sum;
      squares += off * off / (4 * tokens);
    }
  }
  return std::sqrt(squares);
}

// Sixteen times the features give a quarter of the error, averaged over eight seeds.
TEST(LinearAttentionTheory, TheErrorOfFavorFallsWithTheRootOfFeatures) {
  const auto mean = [](std::int64_t features) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) sum += error_of_favor(features, seed) / 8;
    return sum;
  };
  const double few = mean(256);
  const double many = mean(4096);
  RecordProperty("error_of_256", std::to_string(few));
  RecordProperty("error_of_4096", std::to_string(many));
  EXPECT_NEAR(few / many, 4, 0.6) << few << " and " << many;
}

}  // namespace
}  // namespace rotary
