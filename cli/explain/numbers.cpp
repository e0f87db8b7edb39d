// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/numbers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "cli/failure.hpp"
#include "cli/printable.hpp"

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

}  // namespace

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

std::string key_text(const Numbers& numbers) {
  return vector_at("k", numbers.key, numbers.key_position);
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
  throw Failure(ExitCode::check_failed, fmt::format("{} must hold within {:.3g}, got {:.3g}", what,
                                                    check.bound, check.deviation));
}

void add_check(Json& json, const Check& check) {
  json["deviation"] = check.deviation;
  json["bound"] = check.bound;
  json["holds"] = check.holds();
}

}  // namespace rotary::cli::explain
