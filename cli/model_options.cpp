// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json.hpp"
#include "cli/model_input.hpp"
#include "cli/utf8.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::cli {
namespace {

std::optional<std::int64_t> parse_context(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::int64_t tokens = parse_int64("--context", *text);
  require(tokens >= 1, "--context must be at least 1 token, got {}", tokens);
  return tokens;
}

Numerics parse_numerics(const std::optional<std::string>& text) {
  if (!text) return Numerics::exact;
  return choose_named("--numerics", *text, all_numerics);
}

ModelPart parse_part(const std::optional<std::string>& text) {
  return text ? choose_named("--part", *text, all_model_parts) : ModelPart::text;
}

ConfigOverride parse_setting(const std::string& text) {
  const auto equals = text.find('=');
  require(equals != 0 && equals != std::string::npos,
          "--set must be KEY=VALUE, such as rope_theta=500000, got '{}'", text);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_sequence_length(rest);
    require(length != 0, "--set must be UTF-8");
    rest.remove_prefix(length);
  }
  return {.key = text.substr(0, equals), .value = text.substr(equals + 1)};
}

// A member of a JSON object, whose reader judges the value: JSON, or else a text.
std::string member_text(const ConfigOverride& setting) {
  const auto& [key, value] = setting;
  const bool is_json = Json::accept(value);
  require(is_json || value.find_first_of("{[\"") != 0, "--set {} must be valid JSON, got '{}'", key,
          value);
  return fmt::format("{}:{}", Json(key).dump(), is_json ? value : Json(value).dump());
}

}  // namespace

void declare_model_options(OptionParser& parser, ModelOptions& options) {
  parser.add("--pairing half|interleaved|interleaved_to_half", options.pairing,
             "which features turn together, for a model whose family is not known");
  parser.add("--context N", options.context,
             "how many tokens the context has, for rules that depend on it (dynamic, longrope)");
  parser.add("--numerics exact|transformers|ggml", options.numerics,
             "whose arithmetic (exact); ggml is llama.cpp");
  parser.add("--part text|vision|audio", options.part,
             "which part of a model that reads images or sound (text)");
  parser.add("--set KEY=VALUE", options.settings, std::string(config_settings_help));
}

ResolveOptions resolve_options(const ModelOptions& options) {
  ResolveOptions result{.pairing = parse_pairing(options.pairing),
                        .context_tokens = parse_context(options.context),
                        .numerics = parse_numerics(options.numerics),
                        .overrides = {},
                        .part = parse_part(options.part)};
  for (const std::string& setting : options.settings) {
    result.overrides.push_back(parse_setting(setting));
  }
  return result;
}

ModelSpec model_of_settings(const ModelOptions& options) {
  std::vector<ConfigOverride> settings = resolve_options(options).overrides;
  require(!settings.empty(), "{} takes its numbers by --set: head_dim, base and pairing at least",
          options.config);
  if (options.pairing) settings.push_back({.key = "pairing", .value = *options.pairing});
  if (options.numerics) settings.push_back({.key = "numerics", .value = *options.numerics});
  const auto xpos = std::ranges::find(settings, "xpos", &ConfigOverride::key);
  if (options.config == xpos_name && xpos == settings.end())
    settings.push_back({.key = "xpos", .value = "{}"});
  std::vector<std::string> members;
  members.reserve(settings.size());
  for (const ConfigOverride& setting : settings) members.push_back(member_text(setting));
  const auto spec = parse_rotary_spec(fmt::format("{{{}}}", fmt::join(members, ",")));
  if (!spec) fail_usage("{} by --set: {}", options.config, spec.error().message);
  ModelSpec model;
  model.rotary.push_back({.layer_type = {}, .spec = *spec, .trained_context_tokens = {}});
  return model;
}

ModelSpec read_model(const ModelOptions& options) {
  return read_model(options.config, resolve_options(options));
}

Frequencies frequencies_of(const ModelSpec& model, std::size_t index, const ModelOptions& options) {
  const RotarySpec& spec = model.rotary[index].spec;
  const auto context_tokens = parse_context(options.context);
  require(context_tokens || !depends_on_context(spec.scaling),
          "--context is required: the frequencies of rope_type {} depend on how many tokens the "
          "context has",
          rope_type(spec.scaling));
  return value_or_fail(make_frequencies(spec, context_tokens), input_name(options.config));
}

}  // namespace rotary::cli
