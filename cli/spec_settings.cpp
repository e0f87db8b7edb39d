// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_settings.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "cli/failure.hpp"
#include "cli/json_writer.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::cli {
namespace {

// Where the object, array or string ends that the text begins with; its size where it does not.
std::size_t end_of_bracketed(std::string_view text) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
      continue;
    }
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == '{' || c == '[')) ++depth;
    if (!is_quoted && (c == '}' || c == ']')) --depth;
    if (!is_quoted && depth == 0) return i + 1;
  }
  return text.size();
}

// One value and nothing behind it, which would become members that nobody named; whether it is a
// valid one the parser says. The others are names, and text.
bool is_json(std::string_view value) {
  constexpr std::string_view of_numbers = "-0123456789+.eE";
  if (value.empty()) return false;
  if (std::string_view("{[\"").find(value.front()) != std::string_view::npos)
    return value.find_first_not_of(" \t\n\r", end_of_bracketed(value)) == std::string_view::npos;
  return of_numbers.substr(0, 11).find(value.front()) != std::string_view::npos &&
         value.find_first_not_of(of_numbers) == std::string_view::npos;
}

}  // namespace

ModelSpec model_of_settings(const ModelOptions& arguments) {
  const ResolveOptions options = resolve_options(arguments);
  if (options.overrides.empty()) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} takes its numbers by --set: head_dim, base and pairing at least",
                              arguments.config));
  }
  JsonWriter json;
  json.begin_object();
  bool has_xpos = false;
  for (const auto& [key, value] : options.overrides) {
    has_xpos = has_xpos || key == "xpos";
    json.key(key);
    if (is_json(value)) {
      json.document(value);
    } else {
      json.value(std::string_view(value));
    }
  }
  if (options.pairing) json.member("pairing", to_string(*options.pairing));
  if (arguments.numerics) json.member("numerics", to_string(options.numerics));
  if (arguments.config == xpos_name && !has_xpos) {
    json.key("xpos");
    json.document("{}");
  }
  json.end_object();
  const auto spec = parse_rotary_spec(std::move(json).finish());
  if (!spec) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} by --set: {}", arguments.config, spec.error().message));
  }
  ModelSpec model;
  model.rotary.push_back({.layer_type = {}, .spec = *spec, .trained_context_tokens = {}});
  return model;
}

}  // namespace rotary::cli
