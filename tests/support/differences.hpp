// SPDX-License-Identifier: Apache-2.0
// Gradients against differences of a loss.
#pragma once

#include <gtest/gtest.h>

#include "support/tensor.hpp"

namespace rotary::test {

// Σ a b: a loss whose gradient in `a` is `b`.
[[nodiscard]] inline double sum_of_products(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for_each_element(a.extents(), [&](const HeadIndex& index, std::int64_t f) {
    sum += a.at(index, f) * b.at(index, f);
  });
  return sum;
}

// Expects each element of the gradient to be the central difference of loss() in that element of x.
template <class Loss>
void expect_central_differences(Tensor& x, const Tensor& gradient, const Loss& loss, double step,
                                double tolerance) {
  for_each_element(x.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const double value = x.at(index, f);
    x.set(index, f, value + step);
    const double above = loss();
    x.set(index, f, value - step);
    const double below = loss();
    x.set(index, f, value);
    ASSERT_NEAR(gradient.at(index, f), (above - below) / (2 * step), tolerance);
  });
}

}  // namespace rotary::test
