// SPDX-License-Identifier: Apache-2.0
// Corner cases: FIRE's pieces, and table rows that no position reaches. The fuzz target relative
// compares biases and gradients at any positions and strides.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/relative.hpp"
#include "relative/samples.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using Numbers = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

// The input x of FIRE's network at distance 37, if the query is within the threshold.
const double x_of_37 = std::log1p(37.0) / (std::log1p(512.0) + 1e-6);

// Hidden units are active always, never, above or below some x. Some have weight or bias 0. Four
// switch at x = 1/4, two exactly at the x of distance 37.
Fire fire_of_many_pieces() {
  return {
      .c = 1,
      .hidden_weight = {1, -1, 0, 0, 2, -2, 1, -1, 0.5, -0.5, 1, -3, 0, -1},
      .hidden_bias = {-0.25, 0.25, 0.3, -0.3, 0, 0, 1, -1, -0.125, 0.125, -x_of_37, 2, 0, x_of_37},
      .output_weight = {1,   0.5, -2, 3,  0.3, 4, 1, 7,  -3, 2, 100, 1, 9, 11,
                        -20, 1.5, 2,  -3, 1,   2, 5, -6, 1,  3, -4,  2, 1, 5},
      .output_bias = {0.1, -5}};
}

TEST(RelativeCorners, PiecesOfFireAgreeWithTheReference) {
  const RelativeBias bias = fire_of_many_pieces();
  for (std::int64_t query = 0; query < 700; ++query) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const BiasIndex at{.head = head, .query = query, .key = 0};
      const reference::Bias exact = reference::relative_bias(bias, at);
      ASSERT_NEAR(test::value_of(bias_at(bias, at)), static_cast<double>(exact.value),
                  static_cast<double>(exact.magnitude) * bias_error_bound)
          << query;
    }
  }
}

// bias_error_bound covers at most 112 hidden units.
TEST(RelativeCorners, TheWidestFireIsWithinTheBound) {
  Fire fire{.c = 0.01, .threshold = 900};
  fire.hidden_weight = test::random_numbers(112, 1);
  fire.hidden_bias = test::random_numbers(112, 2);
  fire.output_weight = test::random_numbers(112, 3);
  fire.output_bias = {0.5};
  for (std::int64_t query = 0; query < 2000; query += 3) {
    const BiasIndex at{.head = 0, .query = query, .key = query / 2};
    const reference::Bias exact = reference::relative_bias(fire, at);
    ASSERT_NEAR(test::value_of(bias_at(fire, at)), static_cast<double>(exact.value),
                static_cast<double>(exact.magnitude) * bias_error_bound);
  }
}

// In ln(1 + a d), the sum 1 + a d keeps few bits of a small a d.
TEST(RelativeCorners, KerpleOfSmallScaleIsWithinTheBound) {
  const RelativeBias kerple = KerpleLog{.p = {1}, .a = {1e-9}};
  for (std::int64_t query = 0; query < 9; ++query) {
    const BiasIndex at{.head = 0, .query = query, .key = 0};
    const reference::Bias exact = reference::relative_bias(kerple, at);
    EXPECT_NEAR(test::value_of(bias_at(kerple, at)), static_cast<double>(exact.value),
                static_cast<double>(exact.magnitude) * bias_error_bound);
  }
}

// The derivative of head 0's bias with respect to each hidden bias, at this distance.
Numbers hidden_bias_gradient(const Fire& fire, std::int64_t distance) {
  const Numbers ones = {1, 0};
  const ScoresExtents n{.heads = 2, .queries = 1, .keys = 1};
  Numbers all(static_cast<std::size_t>(parameter_count(fire)));
  test::require(add_bias_gradient(all, fire,
                                  ConstScoresView{ones.data(), DType::f64, n, strides_bhqk(n)},
                                  BiasRange{.first_query = distance}));
  const auto begin = all.begin() + 2 + static_cast<std::ptrdiff_t>(fire.hidden_weight.size());
  return {begin, begin + static_cast<std::ptrdiff_t>(fire.hidden_bias.size())};
}

// The derivative of a unit at 0 is 0, as in torch.
TEST(RelativeCorners, UnitsOfFireAtZeroHaveNoGradient) {
  const Fire fire = fire_of_many_pieces();
  EXPECT_EQ(hidden_bias_gradient(fire, 0), (Numbers{0, 0.5, -2, 0, 0, 0, 1, 0, 0, 2, 0, 1, 0, 11}));
  EXPECT_EQ(hidden_bias_gradient(fire, 36),
            (Numbers{1, 0, -2, 0, 0.3, 0, 1, 0, -3, 0, 0, 1, 0, 11}));
  EXPECT_EQ(hidden_bias_gradient(fire, 37),
            (Numbers{1, 0, -2, 0, 0.3, 0, 1, 0, -3, 0, 0, 1, 0, 0}));
  EXPECT_EQ(hidden_bias_gradient(fire, 38),
            (Numbers{1, 0, -2, 0, 0.3, 0, 1, 0, -3, 0, 100, 1, 0, 0}));
}

// Inf is in query 0, then in the vector of distance -3. It reaches only the results that use it.
TEST(RelativeCorners, ShawReadsOnlyTheRowsOfItsKeys) {
  const Extents of_q{.tokens = 4, .heads = 1, .features = 1};
  const ScoresExtents n{.heads = 1, .queries = 4, .keys = 4};
  const Numbers q = {infinity, 1, 1, 1};
  const Numbers weights(16, 1);
  const ConstScoresView read{weights.data(), DType::f64, n, strides_bhqk(n)};
  Numbers gradient(7);
  test::require(add_shaw_gradient({gradient, {3, 3}}, read,
                                  {q.data(), DType::f64, of_q, strides_bthd(of_q)}, {}));
  EXPECT_EQ(gradient, (Numbers{1, 2, 3, infinity, infinity, infinity, infinity}));
  const Numbers rows = {infinity, 1, 1, 1, 1, 1, 1};
  Numbers out(4);
  test::require(add_shaw_values({out.data(), DType::f64, of_q, strides_bthd(of_q)}, read,
                                {{3, 3}, test::matrix_of_rows(rows, 7)}, {}));
  EXPECT_EQ(out, (Numbers{4, 4, 4, infinity}));
}

// Three gates of 1/2 give positions 1.5, 1 and 0.5.
TEST(RelativeCorners, CopeGradientsReadOnlyTheRowsOfTheirPositions) {
  const Extents of_q{.tokens = 1, .heads = 1, .features = 1};
  const ScoresExtents n{.heads = 1, .queries = 1, .keys = 3};
  const Numbers table = {1, 2, 3, infinity};
  const Numbers scores(3);
  const Numbers ones(3, 1);
  const Numbers q = {1};
  Numbers d_scores(3);
  Numbers d_q(1);
  Numbers d_table(4);
  test::require(add_cope_gradient({{d_scores.data(), DType::f64, n, strides_bhqk(n)},
                                   {d_q.data(), DType::f64, of_q, strides_bthd(of_q)},
                                   d_table},
                                  {{scores.data(), DType::f64, n, strides_bhqk(n)},
                                   {q.data(), DType::f64, of_q, strides_bthd(of_q)}},
                                  {test::matrix_of_rows(table, 4)},
                                  {ones.data(), DType::f64, n, strides_bhqk(n)},
                                  {.first_query = 2}));
  EXPECT_EQ(d_q, Numbers{6});
  EXPECT_EQ(d_table, (Numbers{0.5, 2, 0.5, 0}));
}

}  // namespace
}  // namespace rotary
