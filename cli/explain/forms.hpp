// SPDX-License-Identifier: Apache-2.0
// The forms in which A R(position) x is written in papers and in code, of the features that turn
// alone. Each is computed as it is written.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/explain/numbers.hpp"

namespace rotary::cli::explain {

// Element by element: which feature stands where in rot(x), and which cosine beside which feature.
enum class Elements : std::int32_t {
  every_two,   // rot(x) = (-x1, x0, -x3, x2, ...), c = (c0, c0, c1, c1, ...)
  rotate_half  // rot(x) = (-x[d/2:], x[:d/2]),     c = (c0, c1, ..., c0, c1, ...)
};

// One position's A cos and A sin, [pairs], and how pairs are read and written.
struct FormInput {
  std::vector<Pair> pairs;  // features counted from the window's first
  double attention_factor;
};

[[nodiscard]] FormInput form_input(const Numbers& numbers, std::int64_t position);

// Row of the dense d x d matrix A R(position).
[[nodiscard]] Vector matrix_row(const FormInput& input, std::size_t row);
[[nodiscard]] Vector by_matrix(const FormInput& input, const Vector& x);

// Pairs as complex numbers times A e^(i angle).
[[nodiscard]] Vector by_complex(const FormInput& input, const Vector& x);

// x * c + rot(x) * s.
[[nodiscard]] Vector rot(const Vector& x, Elements elements);
[[nodiscard]] Vector by_elements(const FormInput& input, const Vector& x, Elements elements);

}  // namespace rotary::cli::explain
