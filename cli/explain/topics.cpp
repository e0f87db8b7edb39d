// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/topics.hpp"

#include <fmt/format.h>

#include <complex>
#include <numbers>

#include "apps/printable.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::size_t most_shown = 8;

template <class Text>
std::string listed(const Vector& values, Text text) {
  std::string list;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.size() > most_shown && i == 4) {
      list += ", ...";
      i = values.size() - 2;
    }
    list += (i == 0 ? "" : ", ") + text(values[i]);
  }
  return "[" + list + "]";
}

std::string vector_at(std::string_view name, const Vector& values, std::int64_t position) {
  return fmt::format("{} = {} at position {}\n", name, exact_vector_text(values), position);
}

// (P x)[j] = x[order[j]], and its inverse.
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

}  // namespace

std::vector<Pair> pairs_at(const Frequencies& frequencies, std::int64_t position,
                           std::int64_t first_feature) {
  const HeadWindow& window = frequencies.window;
  const auto pair_count = static_cast<std::size_t>(window.pairs());
  const auto begin = static_cast<std::size_t>(first_feature);
  const bool from_halves = reads_halves(window.pairing);
  const bool to_halves = writes_halves(window.pairing);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < pair_count; ++i) {
    // The product wraps, which drops full turns. The rest is exact at any position.
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

Vector turned(const Vector& x, const Frequencies& frequencies, std::int64_t position) {
  Vector result = x;
  for (const Pair& pair : pairs_at(frequencies, position, frequencies.window.first_feature)) {
    const double first = x[pair.first_feature] * frequencies.attention_factor;
    const double second = x[pair.second_feature] * frequencies.attention_factor;
    result[pair.first_result] = first * pair.cos - second * pair.sin;
    result[pair.second_result] = first * pair.sin + second * pair.cos;
  }
  return result;
}

Vector Numbers::rotated_by_library(const Vector& x, std::int64_t position) const {
  RotationsOptions options;
  if (frequencies.numerics == Numerics::transformers) options.tensors = DType::f32;
  const Rotations rotations = value_or_fail(
      make_rotations(frequencies, ConsecutivePositions{.first = position, .tokens = 1}, options));
  const std::vector<float> head = rotated(std::vector<float>(x.begin(), x.end()), rotations);
  return {head.begin(), head.end()};
}

Vector Numbers::window_of(const Vector& head) const {
  const auto begin = head.begin() + frequencies.window.first_feature;
  return {begin, begin + frequencies.window.rotary_dim};
}

std::vector<std::size_t> order_of_half(std::size_t features) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < features; i += 2) order.push_back(i);
  for (std::size_t i = 1; i < features; i += 2) order.push_back(i);
  return order;
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
  const bool in_halves = elements == Elements::rotate_half;
  if (in_halves != reads_halves(input.pairing))
    x = in_halves ? permuted(x, order) : permuted_back(x, order);
  Vector result = by_elements(input, x, elements);
  if (in_halves == writes_halves(input.pairing)) return result;
  return in_halves ? permuted_back(result, order) : permuted(result, order);
}

std::string number_text(double number) {
  const double size = std::abs(number);
  if (size == 0) return "0";
  return size >= 1e6 || size < 1e-4 ? fmt::format("{:.6g}", number) : fmt::format("{:.6f}", number);
}

std::string vector_text(const Vector& values) {
  return listed(values, [](double value) {
    return std::abs(value) < 1e9 ? fmt::format("{:.6f}", value) : fmt::format("{:.6g}", value);
  });
}

std::string exact_vector_text(const Vector& values) {
  return listed(values, [](double value) { return fmt::format("{}", value); });
}

std::string query_text(const Numbers& numbers) {
  return vector_at("q", numbers.query, numbers.query_position);
}

std::string spec_text(const Numbers& numbers) {
  const HeadWindow& window = numbers.frequencies.window;
  std::string text = fmt::format("d = {} features", window.rotary_dim);
  if (window.rotary_dim != window.head_dim) {
    text += fmt::format(" of {}, from feature {}", window.head_dim, window.first_feature);
  }
  text += fmt::format(", {} pairing, base {}", to_string(window.pairing), numbers.spec.base.get());
  const std::string_view rule = rope_type(numbers.spec.scaling);
  if (rule != "default") text += fmt::format(", rope_type {}", rule);
  if (numbers.attention_factor() != 1) {
    text += fmt::format(", attention factor A = {:.6g}", numbers.attention_factor());
  }
  if (!numbers.config.empty()) text += fmt::format("\nas {} has it", printable(numbers.config));
  return text + "\n";
}

std::string pair_text(const Numbers& numbers) {
  return query_text(numbers) + vector_at("k", numbers.key, numbers.key_position) +
         spec_text(numbers);
}

Json document_of_query(std::string_view topic, const Numbers& numbers) {
  const HeadWindow& window = numbers.frequencies.window;
  return {{"schema_version", 1},
          {"topic", topic},
          {"values", numbers.query},
          {"position", numbers.query_position},
          {"base", numbers.spec.base.get()},
          {"pairing", to_string(window.pairing)},
          {"rotary_dim", window.rotary_dim},
          {"first_feature", window.first_feature},
          {"rope_type", rope_type(numbers.spec.scaling)},
          {"attention_factor", numbers.attention_factor()}};
}

Json document_of_pair(std::string_view topic, const Numbers& numbers) {
  Json json = document_of_query(topic, numbers);
  json["key"] = numbers.key;
  json["key_position"] = numbers.key_position;
  return json;
}

void require(const Check& check, std::string_view what) {
  if (check.holds()) return;
  fail(ExitCode::check_failed, "{} must hold within {:.3g}, got {:.3g}", what, check.bound,
       check.deviation);
}

void add_check(Json& json, const Check& check) {
  json["deviation"] = check.deviation;
  json["bound"] = check.bound;
  json["holds"] = check.holds();
}

}  // namespace rotary::cli::explain
