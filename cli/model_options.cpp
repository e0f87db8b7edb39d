// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/json.hpp"
#include "apps/utf8.hpp"
#include "cli/arguments.hpp"
#include "cli/model_input.hpp"
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

// KEY=NAME renames the config's key NAME to KEY, in the object that has it.
ConfigOverride parse_renaming(std::string_view option, std::string_view text) {
  auto [key, from] = parse_sides(option, text, "KEY=NAME, such as rope_theta=my_theta");
  require(!from.empty() && key.find('.') == std::string::npos,
          "{} must be KEY=NAME, where KEY is a name and NAME may be a path, got '{}'", option,
          text);
  return {.key = from.substr(0, from.rfind('.') + 1) + key, .value = {}, .from = std::move(from)};
}

// Reads flags of llama.cpp, each with its value: "--rope-scaling yarn -c 131072".
void take_flags(std::string_view option, const std::string& text, ResolveOptions& resolving) {
  std::istringstream words(text);
  std::string name;
  for (std::string value; words >> name;) {
    require(name.starts_with('-'), "{} must be names and values, --rope-scale 4, got '{}'", option,
            name);
    require(static_cast<bool>(words >> value), "{} must have a value after {}", option, name);
    if (name == "-c" || name == "--ctx-size")
      resolving.context_tokens = integer({1, INT64_MAX}).read(name, value);
    else
      resolving.overrides.push_back({.key = std::move(name), .value = std::move(value)});
  }
}

// Merges nested configs and the dictionaries inside them. Replaces other dictionaries, as vLLM
// (ModelConfig, _apply_dict_overrides) and SGLang's config.update() do.
void take_overrides(const SortedJson& members, const std::string& path,
                    std::vector<ConfigOverride>& overrides) {
  constexpr std::size_t most_depth = 1024;  // characters of a path; the library has its own limit
  for (const auto& [key, value] : members.items()) {
    require(!key.empty() && key.find('.') == std::string::npos,
            "--overrides: a key must be a name without dots, got '{}'", key);
    const bool is_config = key.ends_with("_config") && key != "quantization_config" &&
                           key != "dual_chunk_attention_config";
    const bool is_merged = value.is_object() && (is_config || !path.empty());
    if (is_merged && path.size() < most_depth)
      take_overrides(value, path + key + ".", overrides);
    else
      overrides.push_back({.key = path + key, .value = value.dump(), .unread = UnreadKey::warn});
  }
}

}  // namespace

void declare_model_options(OptionParser& parser, ModelOptions& options) {
  ResolveOptions& resolving = options.resolving;
  parser.add("--pairing", resolving.pairing, one_of(all_pairings),
             "which features turn together, for a model whose family is not known");
  parser.add("--context N", resolving.context_tokens, integer({1, INT64_MAX}),
             "how many tokens the context has, for rules that depend on it (dynamic, longrope)");
  parser.add("--numerics", resolving.numerics, one_of(all_numerics),
             "whose arithmetic (exact); ggml is llama.cpp, vllm its kernels");
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
             "the config's name for a key, such as hidden_size=d_model");
  parser.add_stored("--overrides JSON",
                    "members to merge into a config.json, as by vLLM's --hf-overrides and "
                    "SGLang's --json-model-override-args: '{\"rope_scaling\": {\"rope_type\": "
                    "\"yarn\", \"factor\": 4}}'",
                    OptionParser::Repeats::no, [&resolving](const auto& name, const auto& text) {
                      const SortedJson members = parse_json(text);
                      require(members.is_object(), "{} must be a JSON object, got '{}'", name,
                              text);
                      take_overrides(members, "", resolving.overrides);
                    });
  parser.add_stored("--flags FLAGS",
                    "of a GGUF file: what llama.cpp computes with these flags about rope, such as "
                    "'--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768'",
                    OptionParser::Repeats::no, [&resolving](const auto& name, const auto& text) {
                      take_flags(name, text, resolving);
                    });
}

Value<ConfigOverride> setting() {
  return {.name = "", .read = [](std::string_view option, std::string_view text) {
            auto [key, value] = parse_sides(option, text, "KEY=VALUE, such as rope_theta=500000");
            return ConfigOverride{.key = std::move(key), .value = std::move(value)};
          }};
}

bool is_rope(const ModelOptions& options) {
  return options.config == rope_name && !names_config(options.config);
}

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
    // The value is text unless it is JSON.
    const bool is_json = !parse_json(setting.value).is_discarded();
    require(is_json || setting.value.find_first_of("{[\"") != 0,
            "--set {} must be valid JSON, got '{}'", setting.key, setting.value);
    members.push_back(fmt::format("{}:{}", Json(setting.key).dump(),
                                  is_json ? setting.value : Json(setting.value).dump()));
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
