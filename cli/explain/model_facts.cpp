// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "apps/printable.hpp"
#include "apps/utf8.hpp"
#include "cli/commands/inspection_json.hpp"
#include "cli/commands/model_text.hpp"
#include "cli/explain/explain_config.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::size_t most_layers_shown = 24;

// Adds the count of each kind of layer, and the order of layers with a letter for each kind.
void add_layers(const ModelSpec& model, std::vector<Fact>& facts) {
  std::map<std::string, std::size_t> counts;
  std::map<std::string, char> letters;
  std::string order;
  for (const ModelLayer& layer : model.layers) {
    std::string kind(to_string(layer.encoding));
    const bool is_rotary = layer.encoding == LayerEncoding::rotary;
    if (is_rotary && model.rotary[layer.rotary].layer_type)
      kind += fmt::format(" ({})", *model.rotary[layer.rotary].layer_type);
    if (const auto temperature = temperature_text(layer.query_temperature); !temperature.empty())
      kind += fmt::format(" with {}", temperature);
    ++counts[kind];
    const auto letter = static_cast<char>('A' + letters.size() % 26);
    order += letters.emplace(kind, letter).first->second;
  }
  for (const auto& [each, count] : counts) facts.push_back({"layers, " + each, "", count});
  if (counts.size() > 1) facts.push_back({"order of layers", "", order});
}

void add_rotary(const ModelRotary& rotary, std::optional<std::int64_t> context_tokens,
                std::vector<Fact>& facts) {
  const auto add = [&](std::string_view name, Json value) {
    facts.push_back({std::string(name), rotary.layer_type.value_or(""), std::move(value)});
  };
  const RotarySpec& spec = rotary.spec;
  add("head_dim", spec.head_dim);
  add("rotary_dim", spec.rotary_dim.value_or(spec.head_dim - spec.first_feature));
  add("first_feature", spec.first_feature);
  add("nope_head_dim", rotary.nope_head_dim);
  if (spec.axes) add("axes", axes_text(*spec.axes));
  add("pairing", to_string(spec.pairing));
  add("sense", to_string(spec.sense));
  add("base", spec.base.get());
  add("rope_type", rope_type(spec.scaling));
  for (const auto& [parameter, value] : scaling_parameters(spec.scaling)) {
    if (parameter.name == "attention_factor") continue;
    add(parameter.name, std::visit([](const auto& held) { return Json(held); }, value));
  }
  add("softmax_factor", rotary.softmax_factor);
  const std::optional<std::int64_t> trained = rotary.trained_context_tokens;
  if (trained) add("trained_context_tokens", *trained);

  const auto tokens = context_tokens ? context_tokens : trained;
  const Result<Frequencies> made = make_frequencies(spec, tokens.value_or(1));
  if (!made) return add("error", made.error().message);
  add("attention_factor", made->attention_factor);
  add("inv_freq", made->inv_freq);
  std::vector<double> wavelengths;
  for (const double each : made->inv_freq) wavelengths.push_back(wavelength_tokens(each));
  add("fastest_wavelength_tokens", std::ranges::min(wavelengths));
  add("slowest_wavelength_tokens", std::ranges::max(wavelengths));
  if (!trained) return;
  add("pairs_turning_in_trained_context", std::ranges::count_if(wavelengths, [&](double each) {
        return each <= static_cast<double>(*trained);
      }));
}

// Adds the members of an encoding that does not rotate.
void add_members(const std::string& of, const Json& members, std::vector<Fact>& facts) {
  for (const auto& [name, value] : members.items())
    facts.push_back({fmt::format("{}.{}", of, name), "", value});
}

const Fact* fact_named(const std::vector<Fact>& facts, const Fact& like) {
  const auto found = std::ranges::find_if(facts, [&](const Fact& each) {
    return each.name == like.name && each.layer_type == like.layer_type;
  });
  return found == facts.end() ? nullptr : &*found;
}

// "35 of 64 times 0.125 to 0.9": how many numbers differ, and by which factors.
std::string list_change(const Json& from, const Json& to) {
  if (from.size() != to.size()) {
    return fmt::format("{} numbers in place of {}", to.size(), from.size());
  }
  std::vector<double> factors;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[i] != from[i]) factors.push_back(to[i].get<double>() / from[i].get<double>());
  }
  const auto [least, most] = std::ranges::minmax(factors);
  const std::string range =
      fmt::format("{} of {} times {:.6g}", factors.size(), from.size(), least);
  return least == most ? range : fmt::format("{} to {:.6g}", range, most);
}

std::string full_name(const std::string& name, const std::string& layer_type) {
  return layer_type.empty() ? name : fmt::format("{} ({})", name, layer_type);
}

std::string shown(const Json& value) {
  if (value.is_null()) return "none";
  if (value.is_array()) return fmt::format("{} numbers", value.size());
  if (value.is_number()) {
    const auto number = value.get<double>();
    return std::abs(number) >= 1000 && std::abs(number) < 1e12 ? fmt::format("{:.0f}", number)
                                                               : fmt::format("{:.6g}", number);
  }
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() <= most_layers_shown) return text;
  return fmt::format("{}...", utf8_prefix(text, most_layers_shown));
}

}  // namespace

void to_json(Json& json, const Fact& fact) {
  json = {
      {"name", fact.name}, {"layer_type", text_or_null(fact.layer_type)}, {"value", fact.value}};
}

void to_json(Json& json, const FactChange& change) {
  json = {{"name", change.name},
          {"layer_type", text_or_null(change.layer_type)},
          {"from", change.from},
          {"to", change.to}};
}

std::vector<Fact> facts_of(const ModelSpec& model, std::optional<std::int64_t> context_tokens) {
  std::vector<Fact> facts = {{"model_type", "", model.model_type},
                             {"layers", "", model.layers.size()}};
  if (model.dual_chunk) {
    facts.push_back({"dual_chunk.chunk", "", model.dual_chunk->chunk});
    facts.push_back({"dual_chunk.local", "", model.dual_chunk->local});
  }
  add_layers(model, facts);
  if (model.sinusoidal) add_members("sinusoidal", sinusoidal_members(*model.sinusoidal), facts);
  if (model.relative_bias) add_members("bias", bias_members(*model.relative_bias), facts);
  if (model.softcap) facts.push_back({"softcap", "", *model.softcap});
  for (const ModelRotary& rotary : model.rotary) add_rotary(rotary, context_tokens, facts);
  return facts;
}

std::vector<FactChange> changes(const std::vector<Fact>& from, const std::vector<Fact>& to) {
  std::vector<FactChange> result;
  for (const Fact& each : from) {
    const Fact* const other = fact_named(to, each);
    if (other != nullptr && other->value == each.value) continue;
    FactChange change{each.name, each.layer_type, each.value,
                      other == nullptr ? Json() : other->value};
    if (change.from.is_array() && change.to.is_array()) {
      change.to = list_change(change.from, change.to);
      change.from = nullptr;
    }
    result.push_back(change);
  }
  for (const Fact& each : to) {
    if (fact_named(from, each) == nullptr) {
      result.push_back({each.name, each.layer_type, nullptr, each.value});
    }
  }
  return result;
}

std::string fact_text(const Fact& fact) {
  return printable(fmt::format("{} {}", full_name(fact.name, fact.layer_type), shown(fact.value)));
}

std::string change_text(const FactChange& change) {
  const std::string name = full_name(change.name, change.layer_type);
  const bool is_list = change.name.ends_with("inv_freq") || change.name.ends_with("slopes");
  if (is_list && change.from.is_null() && change.to.is_string()) {
    return printable(fmt::format("{} {}", name, change.to.get_ref<const std::string&>()));
  }
  return printable(fmt::format("{} {} -> {}", name, shown(change.from), shown(change.to)));
}

}  // namespace rotary::cli::explain
