// SPDX-License-Identifier: Apache-2.0
// One head turned by hand, in double, from the library's frequencies, in each form that papers and
// code write; and by the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/vectors.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli::explain {

using Vector = std::vector<double>;

// One pair at one position. Features count from the head's first.
struct Pair {
  std::size_t first_feature, second_feature;  // where the pair stands
  std::size_t first_result, second_result;    // and where what it becomes is written
  double inv_freq;                            // radians per position
  double angle_radians;                       // position * inv_freq
  double reduced_radians;                     // the same less whole turns, in [-pi, pi)
  double cos, sin;                            // without the attention factor
};

// What is left of position * inv_freq after whole turns, exact at any position but for the rounding
// of the fraction to double and its product with pi: within 8 * 2^-53 radians.
[[nodiscard]] std::vector<Pair> pairs_at(const Frequencies& frequencies, std::int64_t position);

// A R x: the pairs turned and multiplied by the attention factor A, the other features as they are.
[[nodiscard]] Vector turned(const Vector& x, std::span<const Pair> pairs, double attention_factor);

// The float32 values that rotate() makes of x.
[[nodiscard]] Vector rotated_by_library(const Vector& x, const Frequencies& frequencies,
                                        std::int64_t position);

// The features of the window, and the head with them in place of its own.
[[nodiscard]] Vector window_of(const Vector& head, const HeadWindow& window);
[[nodiscard]] Vector with_window(Vector head, const Vector& inner, const HeadWindow& window);

// For features (0, 2, 4, ..., 1, 3, 5, ...): interleaved pairs in the order of half.
[[nodiscard]] std::vector<std::size_t> order_of_half(std::size_t features);

// (P x)[j] = x[order[j]], and back.
[[nodiscard]] Vector permuted(const Vector& x, std::span<const std::size_t> order);
[[nodiscard]] Vector permuted_back(const Vector& x, std::span<const std::size_t> order);

// How far apart two ways to the same score of d features, or to the same element, may come in
// double, relative to |q| |k| or to |x|. Each cos and sin is off by at most 9 units of 2^-53 (the
// reduced angle by 8, its function by 1), a component of a turned pair by less than 17 of them
// relative to the pair, so a score of two turned vectors by 34; a sum of d products adds d. Twice
// that, because each of the two ways has such an error.
[[nodiscard]] double rounding_bound(std::size_t features);

// Element by element: which feature stands where in rot(x), and which cosine beside which feature.
enum class Elements : std::int32_t {
  every_two,   // rot(x) = (-x1, x0, -x3, x2, ...), c = (c0, c0, c1, c1, ...)
  rotate_half  // rot(x) = (-x[d/2:], x[:d/2]),     c = (c0, c1, ..., c0, c1, ...)
};

// One position's A cos and A sin, [pairs], and how pairs are read and written.
struct FormInput {
  std::vector<Pair> pairs;  // features counted from the window's first
  double attention_factor;
  Pairing pairing;
};

[[nodiscard]] FormInput form_input(const Frequencies& frequencies, std::int64_t position);

// Row of the dense d x d matrix A R(position).
[[nodiscard]] Vector matrix_row(const FormInput& input, std::size_t row);
[[nodiscard]] Vector by_matrix(const FormInput& input, const Vector& x);

// Pairs as complex numbers times A e^(i angle).
[[nodiscard]] Vector by_complex(const FormInput& input, const Vector& x);

// x * c + rot(x) * s.
[[nodiscard]] Vector rot(const Vector& x, Elements elements);
[[nodiscard]] Vector by_elements(const FormInput& input, const Vector& x, Elements elements);
// The same of features in the order of the pairing: put in the order of the form, and back.
[[nodiscard]] Vector by_elements_in_order(const FormInput& input, Vector x, Elements elements);

}  // namespace rotary::cli::explain
