// SPDX-License-Identifier: Apache-2.0
// Compares the gradient of every learned number with central differences of the long double
// reference. With step s = 2^-20 a difference is off by the third derivative times s^2 / 6, here
// below 2^-36 times the sum. Rounding adds 2^-64 / s.
#include <gtest/gtest.h>

#include <cmath>
#include <variant>

#include "reference/relative.hpp"
#include "relative/samples.hpp"
#include "rotary/relative_bias.hpp"
#include "support/bias_parameters.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Sample;
using test::Tensor;

constexpr BiasRange range{.first_query = 2, .first_key = -1};

// Σ d_bias · bias, and the sum of magnitudes.
reference::Bias loss(const RelativeBias& bias, const Tensor& d_bias) {
  reference::Bias sum;
  test::for_each_element(d_bias.extents(), [&](const HeadIndex& index, std::int64_t key) {
    const reference::Bias one =
        reference::relative_bias(bias, {.head = index.head,
                                        .query = range.first_query + index.token,
                                        .key = range.first_key + key});
    sum.value += d_bias.at(index, key) * one.value;
    sum.magnitude += std::abs(d_bias.at(index, key)) * one.magnitude;
  });
  return sum;
}

TEST(RelativeGradient, EqualsFiniteDifferences) {
  Tensor d_bias({.dtype = DType::f32,
                 .extents = {.batch = 2, .tokens = 6, .heads = 3, .features = 11},
                 .layout = test::Layout::padded});
  test::Random random(7);
  test::fill(d_bias, random);
  for (Sample sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    if (sample.name == "fire") std::get<Fire>(sample.bias).threshold = 5.5;  // between the queries
    const auto parameters = test::bias_parameters(sample.bias, test::sample_table());
    ASSERT_EQ(static_cast<std::int64_t>(parameters.size()), parameter_count(sample.bias));
    std::vector<double> gradients(parameters.size(), 0.5);
    test::require(add_bias_gradient(gradients, sample.bias, test::scores_of(d_bias.view()), range));
    const auto scale = static_cast<double>(loss(sample.bias, d_bias).magnitude);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      double& parameter = *parameters[i];
      const double before = parameter;
      const double step = 0x1p-20;
      parameter = before + step;
      const long double above = loss(sample.bias, d_bias).value;
      parameter = before - step;
      const long double below = loss(sample.bias, d_bias).value;
      parameter = before;
      const auto wanted = static_cast<double>((above - below) / (2 * step));
      // Third derivatives are below 2^6 times the sum: 2^6 · 2^-40 / 6 < 2^-36.
      ASSERT_NEAR(gradients[i] - 0.5, wanted, 0x1p-36 * (scale + std::abs(wanted))) << i;
    }
  }
}

// At distance 0 the gradient of KERPLE's power multiplies 0 by the logarithm of 0.
TEST(RelativeGradient, IsFiniteAtDistanceZero) {
  Tensor d_bias(test::scores_shape(DType::f32, 1, 1));
  for (std::int64_t head = 0; head < 3; ++head) d_bias.set({.head = head}, 0, 1);
  for (const Sample& sample : test::samples()) {
    std::vector<double> gradients(static_cast<std::size_t>(parameter_count(sample.bias)));
    test::require(
        add_bias_gradient(gradients, sample.bias, test::scores_of(d_bias.view()), BiasRange{}));
    for (const double gradient : gradients) EXPECT_TRUE(std::isfinite(gradient)) << sample.name;
  }
}

}  // namespace
}  // namespace rotary
