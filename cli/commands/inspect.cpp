// SPDX-License-Identifier: Apache-2.0
// rotary inspect: what a model's config.json says about positions, for a person or as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/layers_text.hpp"
#include "cli/commands/rotary_text.hpp"
#include "cli/commands/scaling_parameters.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"
#include "cli/printable.hpp"
#include "cli/warning.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli {
namespace {

struct Inspection {
  ModelSpec model;
  std::vector<Frequencies> frequencies;  // one for each of model.rotary
  std::optional<std::int64_t> context_tokens;
};

// For the context that was asked for, otherwise for the trained one; a model that states neither
// is asked about its shortest.
Frequencies frequencies_of(const ModelRotary& rotary, const Inspection& inspection) {
  const auto context =
      inspection.context_tokens ? inspection.context_tokens : rotary.trained_context_tokens;
  return value_or_fail(make_frequencies(rotary.spec, context.value_or(1)), "config");
}

Inspection inspect(const ModelOptions& options) {
  Inspection inspection;
  const ResolveOptions resolving = resolve_options(options);
  inspection.context_tokens = resolving.context_tokens;
  inspection.model = read_model(options.config, resolving);
  for (const ModelRotary& rotary : inspection.model.rotary) {
    inspection.frequencies.push_back(frequencies_of(rotary, inspection));
  }
  return inspection;
}

std::string line(std::string_view label, const std::string& text) {
  return fmt::format("  {:<18}{}\n", label, text);
}

// The rule, then its parameters, one a line.
std::string rule_lines(const Scaling& scaling) {
  std::string text = line("rule", std::string(rope_type(scaling)));
  for (const auto& [facts, value] : scaling_parameters(scaling)) {
    text += line("", fmt::format("  {} = {}", facts.name, parameter_text(value)));
  }
  return text;
}

// First, last and six between.
std::vector<std::size_t> selected_pairs(std::size_t pairs) {
  constexpr std::size_t steps = 7;
  std::vector<std::size_t> selected;
  for (std::size_t step = 0; step <= steps; ++step) {
    const std::size_t pair = step * (pairs - 1) / steps;
    if (selected.empty() || selected.back() != pair) selected.push_back(pair);
  }
  return selected;
}

std::string pairs_table(const Frequencies& frequencies, std::optional<std::int64_t> tokens) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n  {:>4}  {:>12}  {:>18}", "pair", "inv_freq", "wavelength, tokens");
  if (tokens) fmt::format_to(out, "  {:>20}", fmt::format("turns within {}", *tokens));
  text += '\n';
  for (const std::size_t pair : selected_pairs(frequencies.inv_freq.size())) {
    const double inv_freq = frequencies.inv_freq[pair];
    fmt::format_to(out, "  {:>4}  {:>12.6g}  {:>18}", pair, inv_freq,
                   plain(wavelength_tokens(inv_freq)));
    if (tokens) fmt::format_to(out, "  {:>20}", plain(turns_within(inv_freq, *tokens)));
    text += '\n';
  }
  return text;
}

std::string rotary_text(const Inspection& inspection, std::size_t index) {
  const ModelRotary& rotary = inspection.model.rotary[index];
  const Frequencies& frequencies = inspection.frequencies[index];
  const HeadWindow& window = frequencies.window;
  std::string text;
  if (rotary.layer_type) {
    text += fmt::format("\n{}: {}\n", printable(*rotary.layer_type),
                        layers_with_rotary(inspection.model, index));
  }
  text += '\n';
  text += line("pairing", fmt::format("{}: {}", to_string(window.pairing), pairing_text(window)));
  if (rotary.spec.sense == Sense::negative) {
    text += line("sense", "negative: pairs turn by -position x |inv_freq|");
  }
  text += line("features", window_text(window, rotary.nope_head_dim));
  if (!rotary.sections.empty()) {
    text += line("sections", fmt::format("{} pairs for the axes of an image; one number in text",
                                         fmt::join(rotary.sections, ", ")));
  }
  text += line("base", fmt::format("{}", rotary.spec.base.get()));
  text += rule_lines(rotary.spec.scaling);
  if (rotary.spec.numerics != Numerics::exact) {
    text += line("numerics", numerics_text(rotary.spec));
  }
  if (depends_on_context(rotary.spec.scaling)) {
    text += line("holds for", contexts_text(frequencies.contexts) + "; --context shows another");
  }
  text += line("attention factor", attention_text(rotary, frequencies.attention_factor));
  text += line("wavelengths", wavelengths_text(frequencies));
  if (rotary.trained_context_tokens) {
    text += line("trained context", turning_text(frequencies, *rotary.trained_context_tokens));
  } else {
    text += line("trained context", "not in the config (max_position_embeddings)");
  }
  if (inspection.context_tokens) {
    text += line("your context", turning_text(frequencies, *inspection.context_tokens));
  }
  return text + pairs_table(frequencies, rotary.trained_context_tokens);
}

std::string text_of(const Inspection& inspection) {
  const ModelSpec& model = inspection.model;
  std::string text = printable(summary_text(model)) + "\n" + layers_text(model);
  for (std::size_t i = 0; i < model.rotary.size(); ++i) text += rotary_text(inspection, i);
  return text;
}

void write_scaling(JsonWriter& json, const Scaling& scaling) {
  json.key("scaling");
  json.begin_object();
  for (const auto& [facts, value] : scaling_parameters(scaling)) {
    json.key(facts.name);
    std::visit([&json](const auto& held) { json.value(held); }, value);
  }
  json.end_object();
}

void write_turns(JsonWriter& json, const Frequencies& frequencies,
                 std::optional<std::int64_t> trained, std::optional<std::int64_t> context) {
  const auto turning_within = [&](std::optional<std::int64_t> tokens) {
    return tokens ? std::optional(pairs_that_turn(frequencies, *tokens)) : std::nullopt;
  };
  json.member("trained_context_tokens", trained);
  json.member("pairs_turning_in_trained_context", turning_within(trained));
  json.member("pairs_turning_in_context", turning_within(context));
}

void write_contexts(JsonWriter& json, const ContextRange& contexts) {
  json.key("contexts");
  json.begin_object();
  json.member("first", contexts.first);
  json.member("last",
              contexts.last == ContextRange{}.last ? std::nullopt : std::optional(contexts.last));
  json.end_object();
}

void write_rotary(JsonWriter& json, const Inspection& inspection, std::size_t index) {
  const ModelRotary& rotary = inspection.model.rotary[index];
  const Frequencies& frequencies = inspection.frequencies[index];
  json.begin_object();
  json.member("layer_type", rotary.layer_type);
  json.member("head_dim", frequencies.window.head_dim);
  json.member("rotary_dim", frequencies.window.rotary_dim);
  json.member("first_feature", frequencies.window.first_feature);
  json.member("pairing", to_string(frequencies.window.pairing));
  json.member("sense", to_string(rotary.spec.sense));
  json.member("nope_head_dim", rotary.nope_head_dim);
  json.array("sections", rotary.sections);
  json.member("numerics", to_string(rotary.spec.numerics));
  json.member("rounding", to_string(rotary.spec.rounding));
  json.member("base", rotary.spec.base.get());
  json.member("rope_type", rope_type(rotary.spec.scaling));
  write_scaling(json, rotary.spec.scaling);
  json.member("attention_factor", frequencies.attention_factor);
  json.member("softmax_factor", rotary.softmax_factor);
  json.array("inv_freq", frequencies.inv_freq);
  std::vector<double> wavelengths;
  for (const double inv_freq : frequencies.inv_freq) {
    wavelengths.push_back(wavelength_tokens(inv_freq));
  }
  json.array("wavelength_tokens", wavelengths);
  json.member("context_tokens", inspection.context_tokens);
  write_contexts(json, frequencies.contexts);
  write_turns(json, frequencies, rotary.trained_context_tokens, inspection.context_tokens);
  json.end_object();
}

std::string json_of(const Inspection& inspection) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("model_type", inspection.model.model_type.empty()
                                ? std::optional<std::string>()
                                : std::optional(inspection.model.model_type));
  json.key("rotary");
  json.begin_array();
  for (std::size_t i = 0; i < inspection.model.rotary.size(); ++i) {
    write_rotary(json, inspection, i);
  }
  json.end_array();
  write_layers(json, inspection.model);
  json.array("warnings", inspection.model.warnings);
  json.end_object();
  return std::move(json).finish();
}

Run declare(OptionParser& parser) {
  const auto options = std::make_shared<ModelOptions>();
  parser.add("CONFIG", options->config, std::string(config_help)).required();
  declare_model_options(parser, *options);
  return [options](OutputForm form) {
    const Inspection inspection = inspect(*options);
    print_warnings("inspect", inspection.model.warnings);
    return form == OutputForm::json ? json_of(inspection) : text_of(inspection);
  };
}

}  // namespace

constinit const Command inspect_command{
    .name = "inspect",
    .summary = "Show what a model's config says about positions",
    .examples =
        "  rotary inspect config.json\n"
        "  rotary inspect config.json --context 32768\n"
        "  rotary inspect llama-3.1-8b\n"
        "  rotary inspect config.json --json | jq '.rotary[0].inv_freq'\n"
        "  curl -s https://example.com/model/config.json | rotary inspect -\n",
    .declare = declare,
};

}  // namespace rotary::cli
