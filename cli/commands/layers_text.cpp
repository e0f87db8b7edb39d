// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/layers_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

namespace rotary::cli {
namespace {

constexpr std::size_t label_width = 18;
constexpr std::size_t text_width = 64;  // of what follows the label

// "0-2" and "4", for the layers that match.
template <class Matches>
std::vector<std::string> runs_of(const ModelSpec& model, Matches matches) {
  std::vector<std::string> runs;
  for (std::size_t first = 0; first < model.layers.size(); ++first) {
    if (!matches(model.layers[first])) continue;
    std::size_t last = first;
    while (last + 1 < model.layers.size() && matches(model.layers[last + 1])) ++last;
    runs.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    first = last;
  }
  return runs;
}

std::string kind_text(LayerEncoding encoding) {
  switch (encoding) {
    case LayerEncoding::rotary:
      return "rotary";
    case LayerEncoding::none:
      return "none (NoPE)";
    case LayerEncoding::alibi:
      return "linear biases";
    case LayerEncoding::t5_bias:
      return "T5's biases";
    case LayerEncoding::learned:
      return "learned vectors";
    case LayerEncoding::sinusoidal:
      return "sinusoidal";
    case LayerEncoding::no_attention:
      return "no attention";
  }
  return {};
}

struct TemperatureText {
  std::string operator()(const NoTemperature&) const { return {}; }
  std::string operator()(const StepTemperature& rule) const {
    return fmt::format("queries times 1 + {} ln(1 + floor({} / {}))", rule.scale,
                       rule.offset == 0 ? "position" : "(position + 1)", rule.interval_tokens);
  }
  std::string operator()(const LognTemperature& rule) const {
    return fmt::format("queries times max(1, ln(position + 1) / ln {})", rule.trained_tokens);
  }
};

// "a, b, c" broken into lines behind the label.
std::string wrapped(std::string_view label, const std::vector<std::string>& words) {
  std::string text = fmt::format("  {:<{}}", label, label_width);
  std::size_t used = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (used != 0 && used + 1 + word.size() > text_width) {
      text += fmt::format("\n{:{}}", "", label_width + 2);
      used = 0;
    }
    if (used != 0) text += ' ';
    text += word;
    used += word.size() + (used == 0 ? 0 : 1);
  }
  return text + "\n";
}

bool same_kind(const ModelLayer& one, const ModelLayer& other) {
  return one.encoding == other.encoding && one.query_temperature == other.query_temperature;
}

bool rotates_plainly(const ModelLayer& layer) {
  return layer.encoding == LayerEncoding::rotary &&
         std::holds_alternative<NoTemperature>(layer.query_temperature);
}

struct WriteTemperature {
  JsonWriter& json;

  void operator()(const NoTemperature&) const {}
  void operator()(const StepTemperature& rule) const {
    json.key("query_temperature");
    json.begin_object();
    json.member("rule", "step");
    json.member("scale", rule.scale);
    json.member("interval_tokens", rule.interval_tokens);
    json.member("offset", rule.offset);
    json.end_object();
  }
  void operator()(const LognTemperature& rule) const {
    json.key("query_temperature");
    json.begin_object();
    json.member("rule", "logn");
    json.member("trained_tokens", rule.trained_tokens);
    json.end_object();
  }
};

}  // namespace

std::string layers_with_rotary(const ModelSpec& model, std::size_t rotary) {
  const auto runs = runs_of(model, [rotary](const ModelLayer& layer) {
    return layer.encoding == LayerEncoding::rotary && layer.rotary == rotary;
  });
  if (model.layers.empty()) return {};
  return runs.empty() ? "no layer" : fmt::format("layers {}", fmt::join(runs, ", "));
}

std::vector<LayerGroup> layer_groups(const ModelSpec& model) {
  std::vector<ModelLayer> kinds;
  for (const ModelLayer& layer : model.layers) {
    const auto is_same = [&](const ModelLayer& kind) { return same_kind(kind, layer); };
    if (std::ranges::none_of(kinds, is_same)) kinds.push_back(layer);
  }
  std::vector<LayerGroup> groups;
  for (const ModelLayer& kind : kinds) {
    auto runs = runs_of(model, [&](const ModelLayer& layer) { return same_kind(kind, layer); });
    groups.push_back({.encoding = kind.encoding,
                      .kind = kind_text(kind.encoding),
                      .runs = std::move(runs),
                      .temperature = std::visit(TemperatureText{}, kind.query_temperature)});
  }
  return groups;
}

std::string layers_text(const ModelSpec& model) {
  if (std::ranges::all_of(model.layers, rotates_plainly)) return {};
  std::string text = "\n";
  for (LayerGroup& group : layer_groups(model)) {
    group.runs.front() = "layers " + group.runs.front();
    text += wrapped(group.kind, group.runs);
    if (!group.temperature.empty()) text += wrapped("", {group.temperature});
  }
  return text;
}

void write_layers(JsonWriter& json, const ModelSpec& model) {
  json.key("layers");
  json.begin_array();
  for (const ModelLayer& layer : model.layers) {
    json.begin_object();
    json.member("encoding", to_string(layer.encoding));
    if (layer.encoding == LayerEncoding::rotary) json.member("rotary", layer.rotary);
    std::visit(WriteTemperature{json}, layer.query_temperature);
    json.end_object();
  }
  json.end_array();
}

}  // namespace rotary::cli
