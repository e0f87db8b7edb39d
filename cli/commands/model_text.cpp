// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/model_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <type_traits>
#include <utility>

namespace rotary::cli {
namespace {

// "0-2" and "4": the ranges of layers that match.
template <class Matches>
std::vector<std::string> runs_of(const ModelSpec& model, Matches matches) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (matches(model.layers[i])) numbers.push_back(static_cast<std::int64_t>(i));
  return number_runs(numbers);
}

bool same_kind(const ModelLayer& one, const ModelLayer& other) {
  return one.encoding == other.encoding && one.query_temperature == other.query_temperature;
}

struct ParameterLister {
  std::vector<ScalingParameter>& parameters;

  void operator()(const ParameterFacts& facts, const std::optional<double>& value) {
    if (value) parameters.push_back({facts, *value});
  }
  template <class Value>
  void operator()(const ParameterFacts& facts, const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      if (!is_default(value)) parameters.push_back({facts, enumerator_name(value)});
    } else {
      parameters.push_back({facts, value});
    }
  }
};

struct Mark {
  Origin origin;
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array marks = {
    Mark{Origin::asked, "asked", "your option says it, not the config"},
    Mark{Origin::class_default, "class default",
         "absent: what the model's class, or llama.cpp, then has"},
    Mark{Origin::family, "family", "no key says it: what the code of this family does"},
    Mark{Origin::rule, "rule", "computed from other keys, or the scaling rule's default"}};

}  // namespace

std::vector<std::string> number_runs(std::span<const std::int64_t> numbers) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    runs.push_back(end == i + 1 ? fmt::format("{}", numbers[i])
                                : fmt::format("{}-{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  return runs;
}

std::string summary_text(const ModelSpec& model) {
  std::string text = model.model_type.empty() ? "model of unknown type" : model.model_type;
  if (!model.layers.empty()) text += fmt::format(", {} layers", model.layers.size());
  const std::size_t count = model.rotary.size();
  if (count > 1) return fmt::format("{}, {} rotary embeddings", text, count);
  return fmt::format("{}, {} rotary embedding", text, count == 0 ? "no" : "one");
}

double turns_within(double inv_freq, std::int64_t tokens) {
  return std::abs(inv_freq) * static_cast<double>(tokens) / (2 * std::numbers::pi);
}

double wavelength_tokens(double inv_freq) { return 2 * std::numbers::pi / std::abs(inv_freq); }

std::int64_t pairs_that_turn(const Frequencies& frequencies, std::int64_t tokens) {
  return std::ranges::count_if(frequencies.inv_freq, [tokens](double inv_freq) {
    return turns_within(inv_freq, tokens) >= 1;
  });
}

std::string plain(double number) {
  return number >= 1000 && number < 1e12 ? fmt::format("{:.0f}", number)
                                         : fmt::format("{:.4g}", number);
}

std::string_view arrangement_text(AxisArrangement arrangement) noexcept {
  if (arrangement == AxisArrangement::blocks) return "in blocks";
  return arrangement == AxisArrangement::interleaved ? "in turn" : "in turn, the last axis behind";
}

bool begins_anew_on_axes(const RotarySpec& spec) noexcept {
  return spec.axes && spec.axes->exponents.get() != AxisExponents::shared;
}

std::string_view unit_of(const RotarySpec& spec) noexcept {
  if (!begins_anew_on_axes(spec)) return "tokens";
  return spec.axes->scales.empty() ? "steps" : "units of the coordinate";
}

std::string axes_text(const Axes& axes) {
  std::string text =
      fmt::format("{} pairs {}, exponents {}", fmt::join(axes.pairs, ", "),
                  arrangement_text(axes.arrangement), to_string(axes.exponents.get()));
  if (!axes.order.empty())
    text += fmt::format(", axes in the order {}", fmt::join(axes.order, ", "));
  if (!axes.bases.empty()) text += fmt::format(", bases {}", fmt::join(axes.bases, ", "));
  if (!axes.scales.empty()) text += fmt::format(", times {:.6g}", fmt::join(axes.scales, ", "));
  return text;
}

std::string window_text(const HeadWindow& window, std::int64_t nope_head_dim) {
  if (window.rotary_dim == window.head_dim) {
    const std::string others =
        nope_head_dim == 0 ? "" : fmt::format(", after {} of the head that do not", nope_head_dim);
    return fmt::format("all {} turn{}", window.head_dim, others);
  }
  return fmt::format("{} of {} turn: {} to {}; the others pass unchanged", window.rotary_dim,
                     window.head_dim, window.first_feature,
                     window.first_feature + window.rotary_dim - 1);
}

std::string attention_text(const ModelRotary& rotary, double attention_factor) {
  std::string text =
      attention_factor == 1
          ? "1: scores keep their size"
          : fmt::format("{:.6g} on cos and sin, so scores grow by its square, {:.6g}",
                        attention_factor, attention_factor * attention_factor);
  if (rotary.softmax_factor != 1)
    text += fmt::format("; softmax scale times {:.6g}", rotary.softmax_factor);
  return text;
}

std::string wavelengths_text(const std::vector<double>& inv_freq, std::string_view unit) {
  const auto [slowest, fastest] =
      std::ranges::minmax(inv_freq, {}, [](double each) { return std::abs(each); });
  return fmt::format("{} {} (fastest pair) to {} (slowest)", plain(wavelength_tokens(fastest)),
                     unit, plain(wavelength_tokens(slowest)));
}

std::string turning_text(const Frequencies& frequencies, std::int64_t tokens) {
  return fmt::format("{} of {} pairs complete a turn within {} tokens",
                     pairs_that_turn(frequencies, tokens), frequencies.inv_freq.size(), tokens);
}

std::string layers_with_rotary(const ModelSpec& model, std::size_t rotary) {
  const auto runs = runs_of(model, [rotary](const ModelLayer& layer) {
    return layer.encoding == LayerEncoding::rotary && layer.rotary == rotary;
  });
  if (model.layers.empty()) return {};
  return runs.empty() ? "no layer" : fmt::format("layers {}", fmt::join(runs, ", "));
}

std::string temperature_text(const QueryTemperature& temperature) {
  if (const auto* const step = std::get_if<StepTemperature>(&temperature))
    return fmt::format("queries times 1 + {} ln(1 + floor({} / {}))", step->scale,
                       step->offset == 0 ? "position" : "(position + 1)", step->interval_tokens);
  if (const auto* const logn = std::get_if<LognTemperature>(&temperature))
    return fmt::format("queries times max(1, ln(position + 1) / ln {})", logn->trained_tokens);
  if (const auto* const power = std::get_if<PowerTemperature>(&temperature))
    return fmt::format("queries times (1 + (position + 1) / {})^{}", power->interval_tokens,
                       power->exponent);
  return {};
}

std::vector<LayerGroup> layer_groups(const ModelSpec& model) {
  std::vector<ModelLayer> kinds;
  for (const ModelLayer& layer : model.layers) {
    const auto is_same = [&](const ModelLayer& kind) { return same_kind(kind, layer); };
    if (std::ranges::none_of(kinds, is_same)) kinds.push_back(layer);
  }
  constexpr std::array names = {"rotary",          "none (NoPE)", "linear biases", "T5's biases",
                                "learned vectors", "sinusoidal",  "no attention"};
  std::vector<LayerGroup> groups;
  for (const ModelLayer& kind : kinds) {
    auto runs = runs_of(model, [&](const ModelLayer& layer) { return same_kind(kind, layer); });
    groups.push_back({.encoding = kind.encoding,
                      .kind = names.at(static_cast<std::size_t>(kind.encoding) - 1),
                      .runs = std::move(runs),
                      .temperature = temperature_text(kind.query_temperature)});
  }
  return groups;
}

std::vector<ScalingParameter> scaling_parameters(const Scaling& scaling) {
  std::vector<ScalingParameter> parameters;
  for_each_parameter(scaling, ParameterLister{parameters});
  return parameters;
}

std::string parameter_text(const ParameterValue& value) {
  const auto* const list = std::get_if<std::vector<double>>(&value);
  if (list != nullptr && list->size() > 8) {
    return fmt::format("[{}, {}, … {}], {} numbers", list->front(), (*list)[1], list->back(),
                       list->size());
  }
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::string origin_mark(const std::vector<ValueSource>& sources,
                        std::initializer_list<std::string_view> values) {
  std::vector<std::string_view> names;
  for (const std::string_view value : values) {
    const auto source = std::ranges::find(sources, value, &ValueSource::value);
    if (source == sources.end() || source->origin == Origin::stated) continue;
    const std::string_view name = std::ranges::find(marks, source->origin, &Mark::origin)->name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names.empty() ? "" : fmt::format(" [{}]", fmt::join(names, ", "));
}

std::string marks_legend(std::string_view text) {
  std::string legend;
  for (const auto& [origin, name, meaning] : marks) {
    const auto is_in = [&text, mark = name](std::string_view before, std::string_view after) {
      return text.find(fmt::format("{}{}{}", before, mark, after)) != std::string_view::npos;
    };
    const bool is_used = is_in("[", "]") || is_in("[", ",") || is_in(", ", "]");
    if (is_used) legend += fmt::format("  {:<16}  {}\n", fmt::format("[{}]", name), meaning);
  }
  return legend;
}

}  // namespace rotary::cli
