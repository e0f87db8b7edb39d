// SPDX-License-Identifier: Apache-2.0
// Properties of biases, buckets and slopes. The fuzz target relative compares each element with
// bias_at(), rounded once, and bias_at() with the long double reference.
#include "rotary/relative_bias.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/relative.hpp"
#include "relative/samples.hpp"
#include "rotary/cope.hpp"
#include "rotary/shaw.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Layout;
using test::Sample;
using test::Tensor;

constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

// The bits of a 4 by 6 block with all positions moved by `shift`.
std::vector<std::uint64_t> shifted(const RelativeBias& bias, std::int64_t shift) {
  Tensor out(test::scores_shape(DType::f64, 4, 6));
  test::require(fill_bias(test::scores_of(out.view()), bias,
                          BiasRange{.first_query = 2 + shift, .first_key = shift}));
  return out.all_bits();
}

TEST(RelativeBias, IsShiftInvariantIfItDependsOnDistanceAlone) {
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    for (const std::int64_t shift : {std::int64_t{1}, std::int64_t{4096}, -(std::int64_t{1} << 40)})
      ASSERT_EQ(shifted(sample.bias, shift) == shifted(sample.bias, 0),
                depends_on_distance_alone(sample.bias) || (sample.name == "fire" && shift < 4096));
  }
}

// Beyond |threshold| FIRE divides by a term of the query's position.
TEST(RelativeBias, FireIsShiftInvariantUpToItsThreshold) {
  const RelativeBias fire = test::samples()[7].bias;
  ASSERT_EQ(to_string(fire), "fire");
  EXPECT_EQ(shifted(fire, 507), shifted(fire, 0));  // queries at 509 to 512
  EXPECT_NE(shifted(fire, 508), shifted(fire, 0));
  EXPECT_NE(shifted(fire, 1000), shifted(fire, 1001));
}

// m j is -m (i - j) + m i. In a row of scores m i is constant, so softmax removes it.
TEST(RelativeBias, AlibisFormsDifferByAConstantInEachRow) {
  Alibi alibi{.heads = 3};
  Alibi by_key = alibi;
  by_key.form = AlibiForm::key_position;
  for (std::int64_t key = 0; key < 9; ++key) {
    const double causal = test::value_of(bias_at(alibi, {.head = 1, .query = 8, .key = key}));
    const double other = test::value_of(bias_at(by_key, {.head = 1, .query = 8, .key = key}));
    EXPECT_EQ(other - causal, 8 * 0.00390625);
  }
}

TEST(RelativeBias, AlibiRewardsKeysAheadUnlessItIsSymmetric) {
  Alibi alibi{.heads = 1};
  EXPECT_GT(test::value_of(bias_at(alibi, {.query = 1, .key = 5})), 0);
  alibi.form = AlibiForm::symmetric;
  EXPECT_LT(test::value_of(bias_at(alibi, {.query = 1, .key = 5})), 0);
}

TEST(T5Buckets, AgreeWithExactLogarithmsExceptAtEdges) {
  std::vector<std::int64_t> positions = {int64_min, int64_min + 1, int64_max};
  for (std::int64_t p = -2000; p <= 2000; ++p) positions.push_back(p);
  for (int power = 11; power < 63; ++power) {
    for (const std::int64_t step : {-1, 0, 1}) {
      positions.push_back((std::int64_t{1} << power) + step);
      positions.push_back(-(std::int64_t{1} << power) + step);
    }
  }
  for (const auto direction : {T5Direction::bidirectional, T5Direction::causal}) {
    for (const auto& [buckets, most] : {std::pair<std::int64_t, std::int64_t>{32, 128},
                                        {64, 256},
                                        {100, 800},
                                        {4, 2},
                                        {6, 1000000},
                                        {40, std::int64_t{1} << 40}}) {
      for (const auto rounding : {T5Rounding::transformers, T5Rounding::ggml}) {
        T5Buckets spec{.buckets = buckets, .max_distance = most, .direction = direction};
        if (direction == T5Direction::causal && most == 2) spec.max_distance = 3;
        spec.rounding = rounding;
        int edges = 0;
        for (const std::int64_t position : positions) {
          const auto exact = reference::t5_bucket(position, spec);
          const std::int64_t got = test::value_of(t5_bucket(position, spec));
          edges += exact.on_edge ? 1 : 0;
          ASSERT_LE(std::abs(got - exact.bucket), exact.on_edge ? 1 : 0)
              << position << " of " << buckets << ", " << most;
          ASSERT_GE(got, 0);
          ASSERT_LT(got, buckets);
        }
        ASSERT_LT(edges, 40);
      }
    }
  }
}

// Transformers and ggml may round differently at the edge of a bucket, such as 64.
TEST(T5Buckets, RoundingsDifferOnlyAtEdges) {
  T5Buckets spec{.buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional};
  T5Buckets ggml = spec;
  ggml.rounding = T5Rounding::ggml;
  for (std::int64_t position = -1000; position <= 1000; ++position) {
    const auto a = test::value_of(t5_bucket(position, spec));
    const auto b = test::value_of(t5_bucket(position, ggml));
    EXPECT_TRUE(a == b || reference::t5_bucket(position, spec).on_edge) << position;
  }
}

TEST(AlibiSlopes, AgreeWithTheAuthorsAndMptForAnyNumberOfHeads) {
  for (std::int64_t heads = 1; heads <= 130; ++heads) {
    for (const double bias_max : {8.0, 4.0, 64.0}) {
      const Alibi alibi{.heads = heads, .bias_max = bias_max};
      const auto got = test::value_of(alibi_slopes(alibi));
      for (const auto& exact :
           {reference::alibi_slopes(alibi), reference::mpt_slopes(heads, bias_max)}) {
        ASSERT_EQ(got.size(), exact.size());
        for (std::size_t h = 0; h < got.size(); ++h)
          ASSERT_LE(std::abs(got[h] - exact[h]), bias_error_bound * exact[h]) << heads << ' ' << h;
      }
    }
  }
}

// ggml_compute_forward_soft_max: m0^(h + 1), then odd powers of m1.
TEST(AlibiSlopes, AgreeWithGgml) {
  for (const std::int64_t heads : {1, 2, 3, 12, 40, 71, 112}) {
    const auto got = test::value_of(alibi_slopes({.heads = heads}));
    const double below = std::exp2(std::floor(std::log2(static_cast<double>(heads))));
    const double m0 = std::pow(2, -8 / below);
    const double m1 = std::pow(2, -4 / below);
    for (std::size_t h = 0; h < got.size(); ++h) {
      const auto head = static_cast<double>(h);
      const double wanted =
          head < below ? std::pow(m0, head + 1) : std::pow(m1, 2 * (head - below) + 1);
      EXPECT_NEAR(got[h], wanted, 1e-13 * wanted);  // m0 is off by 2^-53, exponents are below 128
    }
  }
}

TEST(AlibiSlopes, AShardHasTheSlopesOfItsHeads) {
  const auto all = test::value_of(alibi_slopes({.heads = 12}));
  for (std::int64_t first = 0; first < 12; first += 4) {
    const auto slopes =
        test::value_of(alibi_slopes({.heads = 4, .first_head = first, .model_heads = 12}));
    EXPECT_TRUE(std::equal(slopes.begin(), slopes.end(), all.begin() + first));
  }
}

TEST(Kerple, ParametersStayWithinTheAuthorsBounds) {
  const KerpleLog log = clamped(KerpleLog{.p = {-1, 0.5}, .a = {0, 3}});
  EXPECT_EQ(log, (KerpleLog{.p = {0.01, 0.5}, .a = {0.01, 3}}));
  const KerplePower power = clamped(KerplePower{.a = {-1, 30}, .p = {0, 2.5}});
  EXPECT_EQ(power, (KerplePower{.a = {0.01, 30}, .p = {0.01, 2}}));
}

}  // namespace
}  // namespace rotary
