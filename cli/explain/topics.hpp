// SPDX-License-Identifier: Apache-2.0
// The topics of `rotary explain`, as text or JSON (docs/schema/explain.schema.json). They compute
// in double, by the formulas of papers and code. Most also show the library's float32 result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "cli/vectors.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli::explain {

using Vector = std::vector<double>;

// One pair at one position.
struct Pair {
  std::size_t first_feature, second_feature;  // where the pair is read
  std::size_t first_result, second_result;    // where the rotated pair is written
  double inv_freq;                            // radians per position
  double angle_radians;                       // position * inv_freq
  double reduced_radians;                     // angle_radians without whole turns, in [-pi, pi)
  double cos, sin;                            // without the attention factor
};

// The reduced angle is within 8 * 2^-53 radians of the exact one at any position, because only the
// fraction of a turn and its product with pi are rounded. first_feature: where the pairs begin.
[[nodiscard]] std::vector<Pair> pairs_at(const Frequencies& frequencies, std::int64_t position,
                                         std::int64_t first_feature);

// A R x: rotates the pairs and multiplies them by the attention factor A. Other features stay.
[[nodiscard]] Vector turned(const Vector& x, const Frequencies& frequencies, std::int64_t position);

struct Numbers {
  Vector query = {};
  Vector key = {};
  std::int64_t query_position = 0;
  std::int64_t key_position = 0;
  RotarySpec spec;
  Frequencies frequencies;
  std::string config = {};                       // name of the config; empty if options gave spec
  std::optional<std::int64_t> hidden_size = {};  // features of a token, if a config has them

  [[nodiscard]] double attention_factor() const { return frequencies.attention_factor; }
  [[nodiscard]] std::size_t rotary_dim() const {
    return static_cast<std::size_t>(frequencies.window.rotary_dim);
  }
  // Feature indices count from the head's first feature, not the window's.
  [[nodiscard]] std::vector<Pair> pairs_at(std::int64_t position) const {
    return explain::pairs_at(frequencies, position, frequencies.window.first_feature);
  }
  [[nodiscard]] Vector turned(const Vector& x, std::int64_t position) const {
    return explain::turned(x, frequencies, position);
  }
  // x rotated by rotate() in float32.
  [[nodiscard]] Vector rotated_by_library(const Vector& x, std::int64_t position) const;
  // The features of a head that rotate.
  [[nodiscard]] Vector window_of(const Vector& head) const;
};

// An example that many texts print: position 3, these four features, interleaved pairs.
inline constexpr double example_values[] = {0.5, -1, 1.5, 2};
inline constexpr std::int64_t example_position = 3;

[[nodiscard]] std::string explain_rotation(const Numbers& numbers, OutputForm form);
[[nodiscard]] std::string explain_forms(const Numbers& numbers, OutputForm form);
[[nodiscard]] std::string explain_derivation(const Numbers& numbers, OutputForm form);
[[nodiscard]] std::string explain_relative(const Numbers& numbers, OutputForm form);
[[nodiscard]] std::string explain_mistakes(const Numbers& numbers, OutputForm form);
[[nodiscard]] std::string explain_example(OutputForm form);

// Frequencies base^(-exponent(i)) of the pairs i, with the attention factor of `numbers`.
template <class Exponent>
[[nodiscard]] Frequencies with_exponents(const Numbers& numbers, Exponent exponent) {
  const HeadWindow& window = numbers.frequencies.window;
  Vector inv_freq;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    inv_freq.push_back(std::pow(numbers.spec.base.get(), -exponent(static_cast<double>(i))));
  }
  return value_or_fail(make_frequencies(window, std::move(inv_freq), numbers.attention_factor()));
}

// Bounds the difference of two computations in double: relative to |q| |k| for a score of d
// features, relative to |x| for an element. In units of 2^-53, cos and sin err by at most 9 (8 from
// the angle, 1 from the function), a rotated component by less than 17, and a score of two rotated
// vectors by 34. A sum of d products adds d. Both computations have these errors.
[[nodiscard]] constexpr double rounding_bound(std::size_t features) {
  return 2 * (34 + static_cast<double>(features)) * 0x1p-53;
}

// The permutation (0, 2, 4, ..., 1, 3, 5, ...), which puts interleaved pairs in the order of half.
[[nodiscard]] std::vector<std::size_t> order_of_half(std::size_t features);

// The element-wise forms: the order of features in rot(x), and of cosines in c.
enum class Elements : std::int32_t {
  every_two,   // rot(x) = (-x1, x0, -x3, x2, ...), c = (c0, c0, c1, c1, ...)
  rotate_half  // rot(x) = (-x[d/2:], x[:d/2]),     c = (c0, c1, ..., c0, c1, ...)
};

// The pairs at one position, each with the features that it reads and writes, and the factor A.
struct FormInput {
  FormInput(const Frequencies& frequencies, std::int64_t position)
      : pairs(pairs_at(frequencies, position, 0)),
        attention_factor(frequencies.attention_factor),
        pairing(frequencies.window.pairing.get()) {}

  std::vector<Pair> pairs;
  double attention_factor;
  Pairing pairing;
};

// A row of the dense d x d matrix A R(position).
[[nodiscard]] Vector matrix_row(const FormInput& input, std::size_t row);
[[nodiscard]] Vector by_matrix(const FormInput& input, const Vector& x);
// Treats pairs as complex numbers and multiplies them by A e^(i angle).
[[nodiscard]] Vector by_complex(const FormInput& input, const Vector& x);
// rot: each pair rotated by 90 degrees. by_elements: x * c + rot(x) * s.
[[nodiscard]] Vector rot(const Vector& x, Elements elements);
[[nodiscard]] Vector by_elements(const FormInput& input, const Vector& x, Elements elements);
// Puts features into the order of the form, applies the form, and restores the order.
[[nodiscard]] Vector by_elements_in_order(const FormInput& input, Vector x, Elements elements);

// "q = [...] at position 3", "k = ...", "d = 4 features, interleaved pairing, base 10000".
[[nodiscard]] std::string query_text(const Numbers& numbers);
[[nodiscard]] std::string spec_text(const Numbers& numbers);
[[nodiscard]] std::string pair_text(const Numbers& numbers);

// The start of a topic's JSON: schema_version, topic and the query; document_of_pair adds the key.
[[nodiscard]] Json document_of_query(std::string_view topic, const Numbers& numbers);
[[nodiscard]] Json document_of_pair(std::string_view topic, const Numbers& numbers);

// Six decimals; six significant digits below 1e-4 and from 1e6 on.
[[nodiscard]] std::string number_text(double number);
// "[a, b, c]"; above 8 numbers the first four, "...", and the last two.
[[nodiscard]] std::string vector_text(const Vector& values);
// Like vector_text(), with all digits of each number.
[[nodiscard]] std::string exact_vector_text(const Vector& values);

// A check that the answer shows. require() fails (exit code 1) if the deviation is above the bound.
struct Check {
  double deviation = 0;
  double bound = 0;
  [[nodiscard]] bool holds() const { return deviation <= bound; }
};
void require(const Check& check, std::string_view what);
// Adds the members "deviation", "bound" and "holds".
void add_check(Json& json, const Check& check);

}  // namespace rotary::cli::explain
