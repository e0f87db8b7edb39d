// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic for claims, explain, plot and diff.
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "apps/failure.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {

[[nodiscard]] inline double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

[[nodiscard]] inline double norm(std::span<const double> a) { return std::sqrt(dot(a, a)); }

[[nodiscard]] inline double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// NaN if a or b is NaN, so that a comparison with the result fails.
[[nodiscard]] inline double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

// The largest difference of elements at the same index.
template <class Real>
[[nodiscard]] double largest_difference(const std::vector<Real>& a, const std::vector<Real>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = larger(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

// A view of contiguous heads of double or float; constant if Real is.
template <class Real>
[[nodiscard]] auto heads_view(Real* data, const Extents& extents) {
  using View = std::conditional_t<std::is_const_v<Real>, ConstHeadsView, HeadsView>;
  return View{.data = data,
              .dtype = sizeof(Real) == sizeof(double) ? DType::f64 : DType::f32,
              .extents = extents,
              .strides = strides_bthd(extents)};
}

// [size][size]. With this v, attention returns its weights.
[[nodiscard]] inline std::vector<float> identity(std::size_t size) {
  std::vector<float> matrix(size * size);
  for (std::size_t i = 0; i < size; ++i) matrix[i * size + i] = 1;
  return matrix;
}

// rotate() of values [tokens][heads][head_dim]. Real is the type of values and of the rows.
template <class Real>
[[nodiscard]] std::vector<Real> rotated(std::vector<Real> values, const Rotations& rotations) {
  const std::int64_t head_dim = rotations.window().head_dim;
  const auto count = static_cast<std::int64_t>(values.size());
  const HeadsView view =
      heads_view(values.data(), {.tokens = rotations.tokens(),
                                 .heads = count / (rotations.tokens() * head_dim),
                                 .features = head_dim});
  ok_or_fail(rotate(view, view, rotations));
  return values;
}

}  // namespace rotary::cli
