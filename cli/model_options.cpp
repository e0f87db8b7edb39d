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

std::pair<std::string, std::string> parse_sides(std::string_view option, std::string_view text,
                                                std::string_view form) {
  const auto equals = text.find('=');
  require(equals != 0 && equals != std::string::npos, "{} must be {}, got '{}'", option, form,
          text);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_sequence_length(rest);
    require(length != 0, "{} must be UTF-8", option);
    rest.remove_prefix(length);
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

ConfigOverride parse_setting(std::string_view option, std::string_view text) {
  auto [key, value] = parse_sides(option, text, "KEY=VALUE, such as rope_theta=500000");
  return {.key = std::move(key), .value = std::move(value)};
}

// The key is set beside the one that stands for it.
ConfigOverride parse_renaming(std::string_view option, std::string_view text) {
  auto [key, from] = parse_sides(option, text, "KEY=NAME, such as rope_theta=my_theta");
  require(!from.empty() && key.find('.') == std::string::npos,
          "{} must be KEY=NAME, where KEY is a name and NAME may be a path, got '{}'", option,
          text);
  return {.key = from.substr(0, from.rfind('.') + 1) + key, .value = {}, .from = std::move(from)};
}

// A member of a JSON object, whose reader judges the value: JSON, or else a text.
std::string member_text(const ConfigOverride& setting) {
  const std::string& key = setting.key;
  const std::string& value = setting.value;
  const bool is_json = Json::accept(value);
  require(is_json || value.find_first_of("{[\"") != 0, "--set {} must be valid JSON, got '{}'", key,
          value);
  return fmt::format("{}:{}", Json(key).dump(), is_json ? value : Json(value).dump());
}

}  // namespace

void declare_model_options(OptionParser& parser, ModelOptions& options) {
  ResolveOptions& resolving = options.resolving;
  parser.add("--pairing", resolving.pairing, one_of(all_pairings),
             "which features turn together, for a model whose family is not known");
  parser.add("--context N", resolving.context_tokens, integer({1, INT64_MAX}),
             "how many tokens the context has, for rules that depend on it (dynamic, longrope)");
  parser.add("--numerics", resolving.numerics, one_of(all_numerics),
             "whose arithmetic (exact); ggml is llama.cpp");
  const auto part = one_of(all_model_parts);
  parser.add_stored(
      "--part " + part.name, "which part of a model that reads images or sound (text)",
      OptionParser::Repeats::no, [&options, read = part.read](const auto& name, const auto& text) {
        options.resolving.part = read(name, text);
        options.names_part = true;
      });
  parser.add("--set KEY=VALUE", resolving.overrides, setting(), std::string(config_settings_help));
  parser.add("--key KEY=NAME", resolving.overrides,
             Value<ConfigOverride>{.name = "", .read = parse_renaming},
             "the name that the config has for a key, such as hidden_size=d_model");
}

Value<ConfigOverride> setting() { return {.name = "", .read = parse_setting}; }

ModelSpec model_of_settings(const ModelOptions& options) {
  std::vector<ConfigOverride> settings = options.resolving.overrides;
  require(!settings.empty(), "{} takes its numbers by --set: head_dim, base and pairing at least",
          options.config);
  const auto add = [&](std::string key, std::string_view value) {
    settings.push_back({.key = std::move(key), .value = std::string(value)});
  };
  if (options.resolving.pairing) add("pairing", to_string(*options.resolving.pairing));
  if (options.resolving.numerics != Numerics::exact)
    add("numerics", to_string(options.resolving.numerics));
  const auto xpos = std::ranges::find(settings, "xpos", &ConfigOverride::key);
  if (options.config == xpos_name && xpos == settings.end()) add("xpos", "{}");
  std::vector<std::string> members;
  members.reserve(settings.size());
  for (const ConfigOverride& setting : settings) {
    require(setting.from.empty(), "--key is for a config; {} takes --set {}=VALUE", options.config,
            setting.key);
    members.push_back(member_text(setting));
  }
  const auto spec = parse_rotary_spec(fmt::format("{{{}}}", fmt::join(members, ",")));
  if (!spec) fail_usage("{} by --set: {}", options.config, spec.error().message);
  ModelSpec model;
  model.rotary.push_back({.layer_type = {}, .spec = *spec, .trained_context_tokens = {}});
  return model;
}

ModelSpec read_model(const ModelOptions& options) {
  return read_model(options.config, options.resolving);
}

Frequencies frequencies_of(const ModelSpec& model, std::size_t index, const ModelOptions& options) {
  const RotarySpec& spec = model.rotary[index].spec;
  const auto context_tokens = options.resolving.context_tokens;
  require(context_tokens || !depends_on_context(spec.scaling),
          "--context is required: the frequencies of rope_type {} depend on how many tokens the "
          "context has",
          rope_type(spec.scaling));
  return value_or_fail(make_frequencies(spec, context_tokens), input_name(options.config));
}

}  // namespace rotary::cli
