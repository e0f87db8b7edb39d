// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string_view>

#include "cli/commands/model_text.hpp"
#include "cli/model_input.hpp"
#include "cli/report/subjects.hpp"

namespace rotary::cli::page {
namespace {

using Fields = std::vector<Field>;

void add_model(Fields& fields, const ModelSpec& model) {
  fields.push_back({"model_type", model.model_type.empty() ? "none" : model.model_type,
                    "the family: it decides what the config does not say, the pairing above all"});
}

// Where queries of these layers grow with the position.
void add_temperature(Fields& fields, const ModelSpec& model, LayerEncoding encoding) {
  for (const LayerGroup& group : layer_groups(model)) {
    if (group.encoding != encoding || group.temperature.empty()) continue;
    fields.push_back(
        {"query temperature", group.temperature, "keeps attention sharp over long contexts"});
  }
}

void add_rule(Fields& fields, const RotarySpec& spec) {
  fields.push_back({"base (rope_theta)", fmt::format("{}", spec.base.get()),
                    "the larger, the slower the slow pairs: the slowest takes almost 2π · base "
                    "tokens for a turn, before scaling"});
  fields.push_back({"rule (rope_type)", std::string(rope_type(spec.scaling)),
                    "how frequencies are changed for a longer context than the original one"});
  for (const auto& [facts, value] : scaling_parameters(spec.scaling)) {
    fields.push_back(
        {fmt::format("rule: {}", facts.name), parameter_text(value), std::string(facts.meaning)});
  }
  if (depends_on_context(spec.scaling))
    fields.push_back({"depends on the context", "yes",
                      "keys that were cached at one length may be wrong at another"});
}

void add_window(Fields& fields, const ModelRotary& rotary, const HeadWindow& window) {
  fields.push_back({"pairing",
                    fmt::format("{}: {}", to_string(window.pairing), pairing_text(window)),
                    "which two features turn together; the wrong one gives fluent nonsense and no "
                    "error"});
  fields.push_back({"features of a head", window_text(window, rotary.nope_head_dim),
                    "what does not turn carries no position"});
  if (rotary.spec.sense == Sense::negative)
    fields.push_back({"sense", "negative", "pairs turn the other way round"});
  if (!rotary.sections.empty())
    fields.push_back({"sections", fmt::format("{}", fmt::join(rotary.sections, ", ")),
                      "pairs that follow time, height and width of an image; one number in text"});
  if (rotary.spec.numerics != Numerics::exact)
    fields.push_back(
        {"numerics", numerics_text(rotary.spec), "whose roundings the angles and products follow"});
}

void add_reach(Fields& fields, const ModelRotary& rotary, const Frequencies& frequencies) {
  fields.push_back(
      {"attention factor", attention_text(rotary, frequencies.attention_factor),
       "multiplies cos and sin, and so what turned features add to scores by its square"});
  fields.push_back({"wavelengths", wavelengths_text(frequencies.inv_freq),
                    "tokens for one turn: short ones tell neighbours apart, long ones far tokens"});
  if (!rotary.trained_context_tokens) {
    fields.push_back({"stated context", "none", "max_position_embeddings is not in the config"});
    return;
  }
  const auto tokens = *rotary.trained_context_tokens;
  fields.push_back({"stated context", fmt::format("{} tokens", tokens),
                    "max_position_embeddings: what the model says that it can take"});
  fields.push_back({"pairs that finish a turn", turning_text(frequencies, tokens),
                    "the others never show all of their angles within it"});
}

}  // namespace

Fields rotary_fields(const ModelSpec& model, std::size_t index, const Frequencies& frequencies) {
  const ModelRotary& rotary = model.rotary[index];
  Fields fields;
  add_model(fields, model);
  fields.push_back({"encoding", "rotary (RoPE)", "queries and keys are turned by their position"});
  const std::string layers = layers_with_rotary(model, index);
  fields.push_back(
      {"layers", layers.empty() ? "not in the config" : layers, "which layers have this encoding"});
  add_window(fields, rotary, frequencies.window);
  add_rule(fields, rotary.spec);
  add_reach(fields, rotary, frequencies);
  add_temperature(fields, model, LayerEncoding::rotary);
  return fields;
}

Fields encoding_fields(const ModelSpec& model, LayerEncoding encoding) {
  Fields fields;
  add_model(fields, model);
  for (const LayerGroup& group : layer_groups(model)) {
    if (group.encoding != encoding) continue;
    fields.push_back({"encoding", group.kind, "how positions enter a layer"});
    fields.push_back({"layers", fmt::format("layers {}", fmt::join(group.runs, ", ")),
                      "which layers have this encoding"});
    break;
  }
  add_temperature(fields, model, encoding);
  return fields;
}

}  // namespace rotary::cli::page
