// SPDX-License-Identifier: Apache-2.0
// The topics of `rotary explain`. Each is a file that computes, then answers as text or as JSON
// (docs/schema/explain.schema.json). They rotate a query and a key in double, in each form that
// papers and code write, and by the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.hpp"
#include "cli/vectors.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli::explain {

using Vector = std::vector<double>;

// One pair at one position.
struct Pair {
  std::size_t first_feature, second_feature;  // where the pair stands
  std::size_t first_result, second_result;    // and where what it becomes is written
  double inv_freq;                            // radians per position
  double angle_radians;                       // position * inv_freq
  double reduced_radians;                     // the same less whole turns, in [-pi, pi)
  double cos, sin;                            // without the attention factor
};

// The reduced angle is within 8 * 2^-53 radians at any position: the fraction of a turn and its
// product with pi are rounded. The window's first feature counts as the given one.
[[nodiscard]] std::vector<Pair> pairs_at(const Frequencies& frequencies, std::int64_t position,
                                         std::int64_t first_feature);

// A R x: the pairs turned and multiplied by the attention factor A, the other features as they are.
[[nodiscard]] Vector turned(const Vector& x, const Frequencies& frequencies, std::int64_t position);

struct Numbers {
  Vector query;
  Vector key;
  std::int64_t query_position = 0;
  std::int64_t key_position = 0;
  RotarySpec spec;
  Frequencies frequencies;
  std::string config;                            // where the spec comes from; empty: from options
  std::optional<std::int64_t> hidden_size = {};  // features of a token, where a config says it

  [[nodiscard]] double attention_factor() const { return frequencies.attention_factor; }
  [[nodiscard]] std::size_t rotary_dim() const {
    return static_cast<std::size_t>(frequencies.window.rotary_dim);
  }
  // Features count from the head's first.
  [[nodiscard]] std::vector<Pair> pairs_at(std::int64_t position) const {
    return explain::pairs_at(frequencies, position, frequencies.window.first_feature);
  }
  [[nodiscard]] Vector turned(const Vector& x, std::int64_t position) const {
    return explain::turned(x, frequencies, position);
  }
  // The float32 values that rotate() makes of x.
  [[nodiscard]] Vector rotated_by_library(const Vector& x, std::int64_t position) const;
  // The features of a head that turn.
  [[nodiscard]] Vector window_of(const Vector& head) const;
};

// The example that is printed in many places: position 3, these four features, interleaved pairs.
inline constexpr double example_values[] = {0.5, -1, 1.5, 2};
inline constexpr std::int64_t example_position = 3;

// One head's rotation in five steps.
[[nodiscard]] std::string explain_rotation(const Numbers& numbers, OutputForm form);
// Matrix, complex numbers, element by element, rotate_half: the same, and when not.
[[nodiscard]] std::string explain_forms(const Numbers& numbers, OutputForm form);
// From what is asked of a position encoding to the rotation, each step with its numbers.
[[nodiscard]] std::string explain_derivation(const Numbers& numbers, OutputForm form);
// Same distance, same score; the norm stays.
[[nodiscard]] std::string explain_relative(const Numbers& numbers, OutputForm form);
// Usual mistakes, and which checks find them.
[[nodiscard]] std::string explain_mistakes(const Numbers& numbers, OutputForm form);
// The example that is printed in many places, as printed and right.
[[nodiscard]] std::string explain_example(OutputForm form);

// base^(-exponent(i)) for each pair i, times the attention factor of the numbers.
template <class Exponent>
[[nodiscard]] Frequencies with_exponents(const Numbers& numbers, Exponent exponent) {
  const HeadWindow& window = numbers.frequencies.window;
  Vector inv_freq;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    inv_freq.push_back(std::pow(numbers.spec.base.get(), -exponent(static_cast<double>(i))));
  }
  return value_or_fail(make_frequencies(window, std::move(inv_freq), numbers.attention_factor()));
}

// Bounds the difference of two computations in double of one score of d features, relative to
// |q| |k|, or of one element, relative to |x|. In units of 2^-53 each cos and sin is off by at most
// 9 (the reduced angle by 8, its function by 1) and a component of a turned pair by less than 17.
// A score of two turned vectors is off by 34, and a sum of d products adds d. Both have an error.
[[nodiscard]] constexpr double rounding_bound(std::size_t features) {
  return 2 * (34 + static_cast<double>(features)) * 0x1p-53;
}

// For features (0, 2, 4, ..., 1, 3, 5, ...): interleaved pairs in the order of half.
[[nodiscard]] std::vector<std::size_t> order_of_half(std::size_t features);

// Element by element: which feature stands where in rot(x), and which cosine beside which feature.
enum class Elements : std::int32_t {
  every_two,   // rot(x) = (-x1, x0, -x3, x2, ...), c = (c0, c0, c1, c1, ...)
  rotate_half  // rot(x) = (-x[d/2:], x[:d/2]),     c = (c0, c1, ..., c0, c1, ...)
};

// A cos and A sin of one position, [pairs], and which features of x a pair reads and writes.
struct FormInput {
  FormInput(const Frequencies& frequencies, std::int64_t position)
      : pairs(pairs_at(frequencies, position, 0)),
        attention_factor(frequencies.attention_factor),
        pairing(frequencies.window.pairing.get()) {}

  std::vector<Pair> pairs;
  double attention_factor;
  Pairing pairing;
};

// Row of the dense d x d matrix A R(position).
[[nodiscard]] Vector matrix_row(const FormInput& input, std::size_t row);
[[nodiscard]] Vector by_matrix(const FormInput& input, const Vector& x);
// Pairs as complex numbers times A e^(i angle).
[[nodiscard]] Vector by_complex(const FormInput& input, const Vector& x);
// rot: each pair turned by 90 degrees. by_elements: x * c + rot(x) * s.
[[nodiscard]] Vector rot(const Vector& x, Elements elements);
[[nodiscard]] Vector by_elements(const FormInput& input, const Vector& x, Elements elements);
// Puts features from the order of the pairing into that of the form, and the result back.
[[nodiscard]] Vector by_elements_in_order(const FormInput& input, Vector x, Elements elements);

// "q = [...] at position 3", "k = ...", "d = 4 features, interleaved pairing, base 10000".
[[nodiscard]] std::string query_text(const Numbers& numbers);
[[nodiscard]] std::string spec_text(const Numbers& numbers);
// All three.
[[nodiscard]] std::string pair_text(const Numbers& numbers);

// A topic adds its members to this: schema_version, topic and the query; of a pair also the key.
[[nodiscard]] Json document_of_query(std::string_view topic, const Numbers& numbers);
[[nodiscard]] Json document_of_pair(std::string_view topic, const Numbers& numbers);

// For a person: six decimals, or six digits where that would be too long or say 0.
[[nodiscard]] std::string number_text(double number);
// "[a, b, c]"; of more than 8 numbers the first four, "...", the last two.
[[nodiscard]] std::string vector_text(const Vector& values);
// The same in as many digits as the numbers have.
[[nodiscard]] std::string exact_vector_text(const Vector& values);

// A check that is shown: fails the command (exit code 1) where a deviation is beyond its bound.
struct Check {
  double deviation = 0;
  double bound = 0;
  [[nodiscard]] bool holds() const { return deviation <= bound; }
};
void require(const Check& check, std::string_view what);
// Adds the members "deviation", "bound" and "holds".
void add_check(Json& json, const Check& check);

}  // namespace rotary::cli::explain
