// SPDX-License-Identifier: Apache-2.0
// A config in words: by field, by key, and in sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string_view>
#include <variant>

#include "apps/failure.hpp"
#include "cli/commands/model_text.hpp"
#include "cli/explain/explain_config.hpp"
#include "cli/model_input.hpp"
#include "cli/report/contents.hpp"

namespace rotary::cli::page {
namespace {

void add(Json& fields, std::string_view label, std::string_view value, std::string_view meaning) {
  fields.push_back({{"label", label}, {"value", value}, {"meaning", meaning}});
}

void add_model(Json& fields, const ModelSpec& model) {
  add(fields, "model_type", model.model_type.empty() ? "none" : model.model_type,
      "the family: it decides what the config does not say, the pairing above all");
}

// Adds a field for layers whose queries grow with the position.
void add_temperature(Json& fields, const ModelSpec& model, LayerEncoding encoding) {
  for (const LayerGroup& group : layer_groups(model)) {
    if (group.encoding != encoding || group.temperature.empty()) continue;
    add(fields, "query temperature", group.temperature, "keeps attention sharp over long contexts");
  }
}

void add_rule(Json& fields, const RotarySpec& spec) {
  add(fields, "base (rope_theta)", fmt::format("{}", spec.base.get()),
      fmt::format("the larger, the slower the slow pairs: the slowest takes almost 2π · base {} "
                  "for a turn, before scaling",
                  unit_of(spec)));
  add(fields, "rule (rope_type)", rope_type(spec.scaling),
      "how frequencies are changed for a longer context than the original one");
  for (const auto& [facts, value] : scaling_parameters(spec.scaling)) {
    add(fields, fmt::format("rule: {}", facts.name), parameter_text(value), facts.meaning);
  }
  if (depends_on_context(spec.scaling))
    add(fields, "depends on the context", "yes",
        "keys that were cached at one length may be wrong at another");
}

void add_axes(Json& fields, const Axes& axes) {
  add(fields, "coordinates", fmt::format("{}", axes.pairs.size()),
      "how many numbers a position has: time, row and column of a patch; in a text they are one");
  add(fields, "pairs of each coordinate", fmt::format("{}", fmt::join(axes.pairs, ", ")),
      "a pair rotates only by its coordinate");
  add(fields, "arrangement", arrangement_text(axes.arrangement),
      "which pairs those are: all of one coordinate side by side, or one of each in turn");
  add(fields, "exponents", to_string(axes.exponents.get()),
      "whether frequencies go on from pair to pair (shared), begin anew on each coordinate (own), "
      "or each coordinate takes every other one (in_turn)");
  if (!axes.order.empty())
    add(fields, "order of coordinates", fmt::format("{}", fmt::join(axes.order, ", ")),
        "in which pairs are given to them: 1, 0 for columns before rows");
  if (!axes.bases.empty())
    add(fields, "bases", fmt::format("{}", fmt::join(axes.bases, ", ")), "of each coordinate");
  if (!axes.scales.empty())
    add(fields, "scales", fmt::format("{:.6g}", fmt::join(axes.scales, ", ")),
        "by which coordinates are multiplied; 2π for those between -1 and 1");
}

void add_window(Json& fields, const ModelRotary& rotary, const HeadWindow& window) {
  add(fields, "pairing", fmt::format("{}: {}", to_string(window.pairing), pairing_text(window)),
      "which two features form a pair; the wrong pairing gives fluent nonsense and no "
      "error");
  add(fields, "features of a head", window_text(window, rotary.nope_head_dim),
      "unrotated features carry no position");
  if (rotary.spec.sense == Sense::negative)
    add(fields, "sense", "negative", "pairs rotate in the other direction");
  if (rotary.spec.axes) add_axes(fields, *rotary.spec.axes);
  if (rotary.spec.numerics != Numerics::exact)
    add(fields, "numerics", numerics_text(rotary.spec),
        "whose roundings the angles and products follow");
}

void add_reach(Json& fields, const ModelRotary& rotary, const Frequencies& frequencies) {
  add(fields, "attention factor", attention_text(rotary, frequencies.attention_factor),
      "multiplies cos and sin, and so scores of rotated features by its square");
  const std::string_view unit = unit_of(rotary.spec);
  add(fields, "wavelengths", wavelengths_text(frequencies.inv_freq, unit),
      fmt::format("{} for one turn: short ones tell neighbours apart, long ones what is far",
                  unit));
  if (begins_anew_on_axes(rotary.spec)) return;
  if (!rotary.trained_context_tokens) {
    add(fields, "stated context", "none", "max_position_embeddings is not in the config");
    return;
  }
  const auto tokens = *rotary.trained_context_tokens;
  add(fields, "stated context", fmt::format("{} tokens", tokens),
      "max_position_embeddings: what the model says that it can take");
  add(fields, "pairs that finish a turn", turning_text(frequencies, tokens),
      "the others never show all of their angles within it");
}

std::string axes_sentence(const Axes& axes) {
  std::string shares;
  for (std::size_t axis = 0; axis < axes.pairs.size(); ++axis)
    shares += fmt::format("{}{} pairs rotate by coordinate {}", axis == 0 ? "" : ", ",
                          axes.pairs[axis], axis);
  const std::string_view text = axes.exponents.get() == AxisExponents::shared
                                    ? " In a text all coordinates are one number."
                                    : "";
  return fmt::format("A position has {} coordinates: {}, {}.{}", axes.pairs.size(), shares,
                     arrangement_text(axes.arrangement), text);
}

std::string rule_sentence(const Scaling& scaling) {
  std::string text(sentence(scaling));
  for (const auto& [facts, value] : scaling_parameters(scaling)) {
    const std::string key = fmt::format("{{{}}}", facts.name);
    if (const auto at = text.find(key); at != std::string::npos)
      text.replace(at, key.size(), parameter_text(value));
  }
  return text;
}

}  // namespace

Json rotary_fields(const ModelSpec& model, std::size_t index, const Frequencies& frequencies) {
  const ModelRotary& rotary = model.rotary[index];
  Json fields = Json::array();
  add_model(fields, model);
  add(fields, "encoding", "rotary (RoPE)", "queries and keys are rotated by their position");
  const std::string layers = layers_with_rotary(model, index);
  add(fields, "layers", layers.empty() ? "not in the config" : layers,
      "which layers have this encoding");
  add_window(fields, rotary, frequencies.window);
  add_rule(fields, rotary.spec);
  add_reach(fields, rotary, frequencies);
  add_temperature(fields, model, LayerEncoding::rotary);
  return fields;
}

Json encoding_fields(const ModelSpec& model, LayerEncoding encoding) {
  Json fields = Json::array();
  add_model(fields, model);
  for (const LayerGroup& group : layer_groups(model)) {
    if (group.encoding != encoding) continue;
    add(fields, "encoding", group.kind, "how positions enter a layer");
    add(fields, "layers", fmt::format("layers {}", fmt::join(group.runs, ", ")),
        "which layers have this encoding");
    break;
  }
  add_temperature(fields, model, encoding);
  return fields;
}

std::vector<std::string> rotary_sentences(const ModelSpec& model, std::size_t index,
                                          const Frequencies& frequencies) {
  const ModelRotary& rotary = model.rotary[index];
  const RotarySpec& spec = rotary.spec;
  const std::string layers = layers_with_rotary(model, index);
  std::vector<std::string> sentences = {
      fmt::format(
          "Rotary embedding (RoPE) rotates each query and each key by angles that grow with its "
          "position{}{}{}. Values are not rotated.",
          layers.empty() ? "" : ", in ", layers,
          rotary.layer_type ? fmt::format(" ({})", *rotary.layer_type) : ""),
      fmt::format("Features rotate in {} pairs: {}. In a head, {}.", frequencies.window.pairs(),
                  pairing_text(frequencies.window),
                  window_text(frequencies.window, rotary.nope_head_dim)),
      fmt::format("Each pair rotates at its own speed: a full turn takes {}.",
                  wavelengths_text(frequencies.inv_freq, unit_of(spec)))};
  if (spec.axes) sentences.push_back(axes_sentence(*spec.axes));
  const bool has_rule = !std::holds_alternative<NoScaling>(spec.scaling);
  if (begins_anew_on_axes(spec)) {
    // Replaces the sentence for a spec without a rule, which describes one axis.
    sentences.emplace_back(
        spec.axes->exponents.get() == AxisExponents::own
            ? "Each coordinate has its own frequencies: of its m pairs, pair k rotates by "
              "base^(-k/m) radians a step."
            : "Of d rotated features, the frequencies base^(-2i/d) go to the n coordinates in "
              "turn: coordinate a has those of i = a, a + n, a + 2n, ....");
    if (has_rule) sentences.push_back(rule_sentence(spec.scaling));
    return sentences;
  }
  sentences.push_back(rule_sentence(spec.scaling));
  if (rotary.trained_context_tokens) {
    sentences.push_back(fmt::format("The config states a context of {} tokens: {}.",
                                    *rotary.trained_context_tokens,
                                    turning_text(frequencies, *rotary.trained_context_tokens)));
  }
  return sentences;
}

std::string encoding_sentence(LayerEncoding encoding) {
  switch (encoding) {
    case LayerEncoding::rotary:
      return {};
    case LayerEncoding::none:
      return "Some layers have no encoding (NoPE): only the causal mask tells them about order.";
    case LayerEncoding::alibi:
      return "Linear biases (ALiBi): each score falls in proportion to the distance, in each head "
             "with its own slope. Queries and keys are not touched.";
    case LayerEncoding::t5_bias:
      return "T5's biases: each score gets a learned number that depends on the head and on the "
             "bucket into which the distance falls. Queries and keys are not touched.";
    case LayerEncoding::learned:
      return "Learned vectors: each position up to the last one of the table has a vector of its "
             "own, which is added to the token's embedding. There is nothing beyond the table.";
    case LayerEncoding::sinusoidal:
      return "Sinusoidal vectors: sines and cosines of the position, at many speeds, are added to "
             "the token's embedding.";
    case LayerEncoding::no_attention:
      return "Some layers have no attention: they mix tokens otherwise.";
  }
  return {};
}

Json key_rows(const NamedModel& named) {
  Json rows = Json::array();
  try {
    for (const explain::ConfigKey& key : explain::keys_of(named.file, named.options)) {
      if (key.use == explain::KeyUse::unread) continue;
      const auto effect_json = [](const explain::KeyEffect& effect) {
        return Json{{"change", effect.change}, {"results", effect.results}};
      };
      rows.push_back({{"path", key.path},
                      {"value", explain::value_text(key.value, 60, "…")},
                      {"meaning", explain::meaning_of(key.path)},
                      {"use", explain::words_of(key.use).sentence},
                      {"effects", json_array(explain::effects_of(key), effect_json)}});
    }
  } catch (const Failure& failure) {
    if (failure.exit_code() != ExitCode::usage) throw;
    return Json::array();
  }
  return rows;
}

}  // namespace rotary::cli::page
