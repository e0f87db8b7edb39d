// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/model_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "cli/commands/model_text.hpp"
#include "cli/explain/turning.hpp"
#include "cli/printable.hpp"
#include "cli/utf8.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::size_t most_layers_shown = 24;

std::string temperature_text(const QueryTemperature& temperature) {
  if (const auto* const step = std::get_if<StepTemperature>(&temperature)) {
    return fmt::format(" with queries times 1 + {} ln(1 + floor((position + {}) / {}))",
                       step->scale, step->offset, step->interval_tokens);
  }
  if (const auto* const logn = std::get_if<LognTemperature>(&temperature)) {
    return fmt::format(" with queries times max(1, ln(position + 1) / ln {})",
                       logn->trained_tokens);
  }
  return {};
}

std::string kind_of(const ModelSpec& model, const ModelLayer& layer) {
  std::string kind(to_string(layer.encoding));
  if (layer.encoding == LayerEncoding::rotary) {
    const auto& layer_type = model.rotary[layer.rotary].layer_type;
    if (layer_type) kind += fmt::format(" ({})", *layer_type);
  }
  return kind + temperature_text(layer.query_temperature);
}

bool are_alike(const ModelLayer& one, const ModelLayer& other) {
  return one.encoding == other.encoding && one.rotary == other.rotary &&
         one.query_temperature == other.query_temperature;
}

// How many layers of each kind, and in which order: a letter for each layer.
void add_layers(const ModelSpec& model, std::vector<Fact>& facts) {
  std::map<std::string, std::size_t> counts;
  std::map<std::string, char> letters;
  std::string order;
  std::string kind;
  const ModelLayer* previous = nullptr;
  for (const ModelLayer& layer : model.layers) {
    if (previous == nullptr || !are_alike(*previous, layer)) kind = kind_of(model, layer);
    previous = &layer;
    ++counts[kind];
    const auto letter = static_cast<char>('A' + letters.size() % 26);
    order += letters.emplace(kind, letter).first->second;
  }
  for (const auto& [each, count] : counts) {
    facts.push_back({"layers, " + each, "", static_cast<double>(count)});
  }
  if (counts.size() > 1) facts.push_back({"order of layers", "", order});
}

void add_frequencies(const ModelRotary& rotary, std::optional<std::int64_t> context_tokens,
                     const std::string& layer_type, std::vector<Fact>& facts) {
  const auto tokens = context_tokens ? context_tokens : rotary.trained_context_tokens;
  const Result<Frequencies> made = make_frequencies(rotary.spec, tokens.value_or(1));
  if (!made) {
    facts.push_back({"error", layer_type, made.error().message});
    return;
  }
  const std::vector<double>& inv_freq = made->inv_freq;
  const auto size = [](double each) { return std::abs(each); };
  facts.push_back({"attention_factor", layer_type, made->attention_factor});
  facts.push_back({"inv_freq", layer_type, inv_freq});
  facts.push_back({"fastest_wavelength_tokens", layer_type,
                   wavelength_tokens(std::ranges::max(inv_freq, {}, size))});
  facts.push_back({"slowest_wavelength_tokens", layer_type,
                   wavelength_tokens(std::ranges::min(inv_freq, {}, size))});
  if (!rotary.trained_context_tokens) return;
  const auto trained = static_cast<double>(*rotary.trained_context_tokens);
  facts.push_back({"pairs_turning_in_trained_context", layer_type,
                   static_cast<double>(std::ranges::count_if(inv_freq, [trained](double each) {
                     return wavelength_tokens(each) <= trained;
                   }))});
}

FactValue fact_value(const ParameterValue& value) {
  if (const auto* const number = std::get_if<double>(&value)) return *number;
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const list = std::get_if<std::vector<double>>(&value)) return *list;
  return std::string(std::get<std::string_view>(value));
}

void add_rotary(const ModelRotary& rotary, std::optional<std::int64_t> context_tokens,
                std::vector<Fact>& facts) {
  const std::string layer_type = rotary.layer_type.value_or("");
  const auto add = [&](std::string name, FactValue value) {
    facts.push_back({std::move(name), layer_type, std::move(value)});
  };
  const RotarySpec& spec = rotary.spec;
  const std::int64_t turning = spec.rotary_dim.value_or(spec.head_dim - spec.first_feature);
  add("head_dim", static_cast<double>(spec.head_dim));
  add("rotary_dim", static_cast<double>(turning));
  add("first_feature", static_cast<double>(spec.first_feature));
  add("nope_head_dim", static_cast<double>(rotary.nope_head_dim));
  if (!rotary.sections.empty()) {
    add("sections", fmt::format("{}", fmt::join(rotary.sections, ", ")));
  }
  add("pairing", std::string(to_string(spec.pairing)));
  add("sense", std::string(to_string(spec.sense)));
  add("base", spec.base.get());
  add("rope_type", std::string(rope_type(spec.scaling)));
  for (const auto& [parameter, value] : scaling_parameters(spec.scaling)) {
    if (parameter.name != "attention_factor") add(std::string(parameter.name), fact_value(value));
  }
  add("softmax_factor", rotary.softmax_factor);
  if (rotary.trained_context_tokens) {
    add("trained_context_tokens", static_cast<double>(*rotary.trained_context_tokens));
  }
  add_frequencies(rotary, context_tokens, layer_type, facts);
}

// Of the same name and layer type.
const Fact* fact_named(const std::vector<Fact>& facts, const Fact& like) {
  const auto found = std::ranges::find_if(facts, [&](const Fact& each) {
    return each.name == like.name && each.layer_type == like.layer_type;
  });
  return found == facts.end() ? nullptr : &*found;
}

// "35 of 64 times 0.125 to 0.9".
std::string list_change(const std::vector<double>& from, const std::vector<double>& to) {
  if (from.size() != to.size()) {
    return fmt::format("{} numbers in place of {}", to.size(), from.size());
  }
  std::vector<double> factors;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[i] != from[i]) factors.push_back(to[i] / from[i]);
  }
  const auto [least, most] = std::ranges::minmax(factors);
  return least == most ? fmt::format("{} of {} times {:.6g}", factors.size(), from.size(), least)
                       : fmt::format("{} of {} times {:.6g} to {:.6g}", factors.size(), from.size(),
                                     least, most);
}

FactChange change_of(const Fact& from, const Fact& to) {
  const auto* const list = std::get_if<std::vector<double>>(&from.value);
  const auto* const other = std::get_if<std::vector<double>>(&to.value);
  if (list != nullptr && other != nullptr) {
    return {from.name, from.layer_type, std::nullopt, list_change(*list, *other)};
  }
  return {from.name, from.layer_type, from.value, to.value};
}

std::string full_name(const std::string& name, const std::string& layer_type) {
  return layer_type.empty() ? name : fmt::format("{} ({})", name, layer_type);
}

std::string shown(const std::optional<FactValue>& value) {
  if (!value) return "none";
  if (const auto* const number = std::get_if<double>(&*value)) {
    return std::abs(*number) >= 1000 && std::abs(*number) < 1e12 ? fmt::format("{:.0f}", *number)
                                                                 : fmt::format("{:.6g}", *number);
  }
  if (const auto* const list = std::get_if<std::vector<double>>(&*value)) {
    return fmt::format("{} numbers", list->size());
  }
  const auto& text = std::get<std::string>(*value);
  if (text.size() <= most_layers_shown) return text;
  return fmt::format("{}...", utf8_prefix(text, most_layers_shown));
}

}  // namespace

std::vector<Fact> facts_of(const ModelSpec& model, std::optional<std::int64_t> context_tokens) {
  std::vector<Fact> facts = {{"model_type", "", model.model_type},
                             {"layers", "", static_cast<double>(model.layers.size())}};
  add_layers(model, facts);
  for (const ModelRotary& rotary : model.rotary) add_rotary(rotary, context_tokens, facts);
  return facts;
}

std::vector<FactChange> changes(const std::vector<Fact>& from, const std::vector<Fact>& to) {
  std::vector<FactChange> result;
  for (const Fact& each : from) {
    const Fact* const other = fact_named(to, each);
    if (other == nullptr) {
      result.push_back({each.name, each.layer_type, each.value, std::nullopt});
    } else if (other->value != each.value) {
      result.push_back(change_of(each, *other));
    }
  }
  for (const Fact& each : to) {
    if (fact_named(from, each) == nullptr) {
      result.push_back({each.name, each.layer_type, std::nullopt, each.value});
    }
  }
  return result;
}

std::string fact_text(const Fact& fact) {
  return printable(fmt::format("{} {}", full_name(fact.name, fact.layer_type), shown(fact.value)));
}

std::string change_text(const FactChange& change) {
  const std::string name = full_name(change.name, change.layer_type);
  const bool is_list_change = !change.from && change.to && change.name == "inv_freq" &&
                              std::holds_alternative<std::string>(*change.to);
  if (is_list_change) {
    return printable(fmt::format("{} {}", name, std::get<std::string>(*change.to)));
  }
  return printable(fmt::format("{} {} -> {}", name, shown(change.from), shown(change.to)));
}

void write_value(JsonWriter& json, const std::optional<FactValue>& value) {
  if (!value) return json.null();
  if (const auto* const number = std::get_if<double>(&*value)) return json.value(*number);
  if (const auto* const list = std::get_if<std::vector<double>>(&*value)) return json.value(*list);
  json.value(std::get<std::string>(*value));
}

}  // namespace rotary::cli::explain
