// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/turning.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "cli/failure.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli::explain {

std::vector<Pair> pairs_at(const Frequencies& frequencies, std::int64_t position) {
  const HeadWindow& window = frequencies.window;
  const auto pair_count = static_cast<std::size_t>(window.pairs());
  const auto begin = static_cast<std::size_t>(window.first_feature);
  const bool from_halves = window.pairing.get() == Pairing::half;
  const bool to_halves = window.pairing.get() != Pairing::interleaved;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < pair_count; ++i) {
    // position * turns wraps to the fraction of a turn that is left, exactly, at any position.
    const std::uint64_t turned = static_cast<std::uint64_t>(position) * frequencies.turns[i];
    const double reduced_radians =
        static_cast<double>(static_cast<std::int64_t>(turned)) * 0x1p-63 * std::numbers::pi;
    pairs.push_back({.first_feature = begin + (from_halves ? i : 2 * i),
                     .second_feature = begin + (from_halves ? i + pair_count : 2 * i + 1),
                     .first_result = begin + (to_halves ? i : 2 * i),
                     .second_result = begin + (to_halves ? i + pair_count : 2 * i + 1),
                     .inv_freq = frequencies.inv_freq[i],
                     .angle_radians = static_cast<double>(position) * frequencies.inv_freq[i],
                     .reduced_radians = reduced_radians,
                     .cos = std::cos(reduced_radians),
                     .sin = std::sin(reduced_radians)});
  }
  return pairs;
}

Vector turned(const Vector& x, std::span<const Pair> pairs, double attention_factor) {
  Vector result = x;
  for (const Pair& pair : pairs) {
    const double first = x[pair.first_feature] * attention_factor;
    const double second = x[pair.second_feature] * attention_factor;
    result[pair.first_result] = first * pair.cos - second * pair.sin;
    result[pair.second_result] = first * pair.sin + second * pair.cos;
  }
  return result;
}

Vector rotated_by_library(const Vector& x, const Frequencies& frequencies, std::int64_t position) {
  RotationsOptions options;
  if (frequencies.numerics == Numerics::transformers) options.tensors = DType::f32;
  const Rotations rotations = value_or_fail(
      make_rotations(frequencies, ConsecutivePositions{.first = position, .tokens = 1}, options));
  std::vector<float> head;
  for (const double value : x) head.push_back(static_cast<float>(value));
  head = rotated(std::move(head), rotations);
  return {head.begin(), head.end()};
}

Vector window_of(const Vector& head, const HeadWindow& window) {
  const auto begin = head.begin() + window.first_feature;
  return {begin, begin + window.rotary_dim};
}

Vector with_window(Vector head, const Vector& inner, const HeadWindow& window) {
  std::ranges::copy(inner, head.begin() + window.first_feature);
  return head;
}

std::vector<std::size_t> order_of_half(std::size_t features) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < features; i += 2) order.push_back(i);
  for (std::size_t i = 1; i < features; i += 2) order.push_back(i);
  return order;
}

Vector permuted(const Vector& x, std::span<const std::size_t> order) {
  Vector result;
  for (const std::size_t from : order) result.push_back(x[from]);
  return result;
}

Vector permuted_back(const Vector& x, std::span<const std::size_t> order) {
  Vector result(x.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = x[i];
  return result;
}

double rounding_bound(std::size_t features) {
  return 2 * (34 + static_cast<double>(features)) * 0x1p-53;
}

FormInput form_input(const Frequencies& frequencies, std::int64_t position) {
  FormInput input{.pairs = pairs_at(frequencies, position),
                  .attention_factor = frequencies.attention_factor,
                  .pairing = frequencies.window.pairing.get()};
  const auto begin = static_cast<std::size_t>(frequencies.window.first_feature);
  for (Pair& pair : input.pairs) {
    for (std::size_t* const feature :
         {&pair.first_feature, &pair.second_feature, &pair.first_result, &pair.second_result}) {
      *feature -= begin;
    }
  }
  return input;
}

Vector matrix_row(const FormInput& input, std::size_t row) {
  Vector entries(2 * input.pairs.size(), 0.0);
  for (const Pair& pair : input.pairs) {
    const double c = input.attention_factor * pair.cos;
    const double s = input.attention_factor * pair.sin;
    if (pair.first_result == row) {
      entries[pair.first_feature] = c;
      entries[pair.second_feature] = -s;
    }
    if (pair.second_result == row) {
      entries[pair.first_feature] = s;
      entries[pair.second_feature] = c;
    }
  }
  return entries;
}

Vector by_matrix(const FormInput& input, const Vector& x) {
  Vector result;
  for (std::size_t row = 0; row < x.size(); ++row) result.push_back(dot(matrix_row(input, row), x));
  return result;
}

Vector by_complex(const FormInput& input, const Vector& x) {
  Vector result(x.size());
  for (const Pair& pair : input.pairs) {
    const std::complex<double> before(x[pair.first_feature], x[pair.second_feature]);
    const auto after = before * std::polar(input.attention_factor, pair.reduced_radians);
    result[pair.first_result] = after.real();
    result[pair.second_result] = after.imag();
  }
  return result;
}

Vector rot(const Vector& x, Elements elements) {
  const std::size_t half = x.size() / 2;
  Vector result(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t first = elements == Elements::every_two ? 2 * i : i;
    const std::size_t second = elements == Elements::every_two ? 2 * i + 1 : i + half;
    result[first] = -x[second];
    result[second] = x[first];
  }
  return result;
}

Vector by_elements(const FormInput& input, const Vector& x, Elements elements) {
  const std::size_t pairs = input.pairs.size();
  const Vector turned_by_90_degrees = rot(x, elements);
  Vector result;
  for (std::size_t feature = 0; feature < x.size(); ++feature) {
    const Pair& pair = input.pairs[elements == Elements::every_two ? feature / 2 : feature % pairs];
    result.push_back(x[feature] * (input.attention_factor * pair.cos) +
                     turned_by_90_degrees[feature] * (input.attention_factor * pair.sin));
  }
  return result;
}

Vector by_elements_in_order(const FormInput& input, Vector x, Elements elements) {
  const std::vector<std::size_t> order = order_of_half(x.size());
  const bool is_every_two = elements == Elements::every_two;
  if (is_every_two && input.pairing == Pairing::half) x = permuted_back(x, order);
  if (!is_every_two && input.pairing != Pairing::half) x = permuted(x, order);
  const Vector result = by_elements(input, x, elements);
  if (is_every_two && input.pairing != Pairing::interleaved) return permuted(result, order);
  if (!is_every_two && input.pairing == Pairing::interleaved) return permuted_back(result, order);
  return result;
}

}  // namespace rotary::cli::explain
