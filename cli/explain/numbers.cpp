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

std::vector<std::size_t> shown_pairs(std::size_t pairs) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (pairs <= most_shown || i < 4 || i + 2 >= pairs) shown.push_back(i);
  }
  return shown;
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

JsonWriter begin_document(std::string_view topic) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("topic", topic);
  return json;
}

void write_query(JsonWriter& json, const Numbers& numbers) {
  const HeadWindow& window = numbers.frequencies.window;
  json.array("values", numbers.query);
  json.member("position", numbers.query_position);
  json.member("base", numbers.spec.base.get());
  json.member("pairing", to_string(window.pairing));
  json.member("rotary_dim", window.rotary_dim);
  json.member("first_feature", window.first_feature);
  json.member("rope_type", rope_type(numbers.spec.scaling));
  json.member("attention_factor", numbers.attention_factor());
}

void write_key(JsonWriter& json, const Numbers& numbers) {
  json.array("key", numbers.key);
  json.member("key_position", numbers.key_position);
}

void require(const Check& check, std::string_view what) {
  if (check.holds()) return;
  throw Failure(ExitCode::check_failed, fmt::format("{} must hold within {:.3g}, got {:.3g}", what,
                                                    check.bound, check.deviation));
}

void write_check(JsonWriter& json, const Check& check) {
  json.member("deviation", check.deviation);
  json.member("bound", check.bound);
  json.member("holds", check.holds());
}

}  // namespace rotary::cli::explain
