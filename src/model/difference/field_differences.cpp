// SPDX-License-Identifier: Apache-2.0
#include "model/difference/field_differences.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/extremes.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "model/difference/enumerators.hpp"
#include "rotary/describe.hpp"
#include "rotary/spec_json.hpp"

namespace rotary {
namespace {

constexpr std::string_view absent = "none";

std::string text_of(const Axes& axes);
std::string text_of(const Xpos& xpos);

template <class Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(name_or_unknown(value));
  } else if constexpr (std::is_floating_point_v<Value>) {
    const bool is_whole = std::abs(value) < 1e15 && std::trunc(value) == value;
    return is_whole ? to_text(static_cast<std::int64_t>(value)) : to_text(value);
  } else {
    return to_text(value);
  }
}

template <class Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? text_of(*value) : std::string(absent);
}

template <class Number>
std::string text_of(const std::vector<Number>& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_shown = list.size() <= 8 || i < 2 || i + 1 == list.size();
    if (is_shown) text += message(i == 0 ? "" : ", ", list[i]);
    if (!is_shown && i == 2) text += ", ...";
  }
  return text + "]" + (list.size() > 8 ? message(", ", list.size(), " numbers") : "");
}

std::string text_of(const Axes& axes) {
  std::string text = message(text_of(axes.pairs), " pairs, ", to_string(axes.arrangement),
                             ", exponents ", to_string(axes.exponents));
  if (!axes.order.empty()) text += ", order " + text_of(axes.order);
  if (!axes.bases.empty()) text += ", bases " + text_of(axes.bases);
  if (!axes.scales.empty()) text += ", scales " + text_of(axes.scales);
  return text;
}

std::string text_of(const Xpos& xpos) {
  return message("scale_base ", xpos.scale_base, ", center ", xpos.center);
}

class FieldList {
 public:
  template <class Value>
  void add(std::string_view field, const Value& one, const Value& other, FieldEffect effect) {
    if (one == other) return;
    fields_.push_back({std::string(field), text_of(one), text_of(other), effect});
  }
  void add(FieldDifference field) { fields_.push_back(std::move(field)); }
  [[nodiscard]] std::vector<FieldDifference> take() && { return std::move(fields_); }

 private:
  std::vector<FieldDifference> fields_;
};

struct NamedText {
  std::string_view name;
  std::string text;
};

struct ParameterTexts {
  std::vector<NamedText>& list;

  template <class Value>
  void operator()(const ParameterFacts& facts, const Value& value) {
    list.push_back({facts.name, text_of(value)});
  }
};

std::vector<NamedText> parameter_texts(const Scaling& scaling) {
  std::vector<NamedText> list;
  for_each_parameter(scaling, ParameterTexts{list});
  return list;
}

std::string text_named(const std::vector<NamedText>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &NamedText::name);
  return found == list.end() ? std::string(absent) : found->text;
}

// Adds the parameters in which the rules differ; "none" for a parameter that a rule lacks.
void add_parameters(const Scaling& one, const Scaling& other, FieldList& fields) {
  const auto mine = parameter_texts(one);
  const auto theirs = parameter_texts(other);
  std::vector<std::string_view> names;
  for (const auto* list : {&mine, &theirs}) {
    for (const NamedText& each : *list) {
      if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
    }
  }
  for (const std::string_view name : names)
    fields.add(name, text_named(mine, name), text_named(theirs, name), FieldEffect::rows);
}

// Whether two numbers are equal within the spacing of float32, in which files may store them.
bool alike(double one, double other) {
  const double size = larger(std::abs(one), std::abs(other));
  return std::isfinite(size) && std::abs(one - other) <= 0x1p-23 * size;
}

std::optional<HeadWindow> window_of(const RotarySpec& spec) {
  const auto window = head_window(spec);
  return window ? std::optional(*window) : std::nullopt;
}

void add_window(const RotarySpec& one, const RotarySpec& other, FieldList& fields) {
  const auto mine = window_of(one);
  const auto theirs = window_of(other);
  if (!mine || !theirs) return;
  fields.add("head_dim", mine->head_dim, theirs->head_dim, FieldEffect::model);
  fields.add("rotary_dim", mine->rotary_dim, theirs->rotary_dim, FieldEffect::rows);
  fields.add("first_feature", mine->first_feature, theirs->first_feature, FieldEffect::rows);
  fields.add("blocks", mine->blocks, theirs->blocks, FieldEffect::rows);
}

struct TemperatureText {
  std::string operator()(const NoTemperature& /*none*/) const { return std::string(absent); }
  std::string operator()(const StepTemperature& step) const {
    return message("1 + ", step.scale, " ln(1 + floor((p + ", step.offset, ") / ",
                   step.interval_tokens, "))");
  }
  std::string operator()(const LognTemperature& logn) const {
    return message("max(1, ln(p + 1) / ln(", logn.trained_tokens, "))");
  }
  std::string operator()(const PowerTemperature& power) const {
    return message("(1 + (p + 1) / ", power.interval_tokens, ")^", power.exponent);
  }
};

// Successive layers in which the two models differ in the same way: "layers 0-3".
struct LayerRun {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string one;
  std::string other;
};

template <class Value, class TextOf>
void add_layer_runs(const ModelSpec& one, const ModelSpec& other, Value ModelLayer::*member,
                    TextOf text, FieldList& fields) {
  std::vector<LayerRun> runs;
  for (std::size_t i = 0; i < one.layers.size(); ++i) {
    if (one.layers[i].*member == other.layers[i].*member) continue;
    std::string mine = text(one.layers[i].*member);
    std::string theirs = text(other.layers[i].*member);
    const bool goes_on = !runs.empty() && runs.back().last + 1 == i && runs.back().one == mine &&
                         runs.back().other == theirs;
    if (goes_on)
      runs.back().last = i;
    else
      runs.push_back({i, i, std::move(mine), std::move(theirs)});
  }
  for (LayerRun& run : runs) {
    std::string field = run.first == run.last ? message("layer ", run.first)
                                              : message("layers ", run.first, "-", run.last);
    fields.add({std::move(field), std::move(run.one), std::move(run.other), FieldEffect::model});
  }
}

// A text and all numbers behind it. The text may leave numbers out, so comparison takes both.
struct TextOfNumbers {
  std::string text;
  std::vector<double> numbers;

  friend bool operator==(const TextOfNumbers&, const TextOfNumbers&) = default;
};

std::string text_of(const TextOfNumbers& value) { return value.text; }

TextOfNumbers with_numbers(const std::optional<SinusoidalSpec>& table) {
  if (!table) return {.text = std::string(absent), .numbers = {}};
  return {.text = message("base ", table->base.get(), ", ", to_string(table->layout.get()), ", ",
                          to_string(table->spacing.get()), ", from ", table->position_offset),
          .numbers = {table->base.get()}};
}

struct BiasTexts {
  TextOfNumbers& parameters;

  template <class Value>
  void operator()(const ParameterFacts& facts, const Value& value) {
    auto& [text, numbers] = parameters;
    if constexpr (std::is_arithmetic_v<Value>) {
      text += message(text.empty() ? "" : ", ", facts.name, " ", text_of(value));
      numbers.push_back(static_cast<double>(value));
    }
    if constexpr (std::is_same_v<Value, std::vector<double>>)
      numbers.insert(numbers.end(), value.begin(), value.end());
  }
};

TextOfNumbers with_numbers(const std::optional<RelativeBias>& bias) {
  if (!bias) return {.text = std::string(absent), .numbers = {}};
  TextOfNumbers parameters;
  for_each_parameter(*bias, BiasTexts{parameters});
  const std::string_view between = parameters.text.empty() ? "" : ": ";
  parameters.text = message(to_string(*bias), between, parameters.text);
  return parameters;
}

std::string text_of(const std::optional<DualChunk>& map) {
  return map ? message("chunk ", map->chunk, ", local ", map->local) : std::string(absent);
}

std::string text_of(const std::optional<ModelEncoder>& encoder) {
  if (!encoder) return std::string(absent);
  return message(encoder->layers, " layers of ", to_string(encoder->encoding));
}

}  // namespace

std::vector<FieldDifference> field_differences(const ModelRotary& one, const ModelRotary& other) {
  const RotarySpec& mine = one.spec;
  const RotarySpec& theirs = other.spec;
  FieldList fields;
  add_window(mine, theirs, fields);
  fields.add("base", mine.base.get(), theirs.base.get(), FieldEffect::rows);
  // If both pairings read the same features, scores are equal, wherever results are written.
  const bool same_scores = reads_halves(mine.pairing) == reads_halves(theirs.pairing);
  fields.add("pairing", mine.pairing.get(), theirs.pairing.get(),
             same_scores ? FieldEffect::nothing : FieldEffect::rows);
  fields.add("sense", mine.sense, theirs.sense, FieldEffect::rows);
  fields.add("rope_type", rope_type(mine.scaling), rope_type(theirs.scaling), FieldEffect::rows);
  add_parameters(mine.scaling, theirs.scaling, fields);
  fields.add("axes", mine.axes, theirs.axes, FieldEffect::model);
  fields.add("xpos", mine.xpos, theirs.xpos, FieldEffect::model);
  const bool same_softmax = alike(one.softmax_factor, other.softmax_factor);
  fields.add("softmax_factor", one.softmax_factor, other.softmax_factor,
             same_softmax ? FieldEffect::nothing : FieldEffect::model);
  fields.add("nope_head_dim", one.nope_head_dim, other.nope_head_dim, FieldEffect::model);
  fields.add("trained_context_tokens", one.trained_context_tokens, other.trained_context_tokens,
             FieldEffect::nothing);
  fields.add("numerics", mine.numerics, theirs.numerics, FieldEffect::nothing);
  fields.add("rounding", mine.rounding, theirs.rounding, FieldEffect::nothing);
  return std::move(fields).take();
}

std::vector<FieldDifference> field_differences(const ModelSpec& one, const ModelSpec& other) {
  FieldList fields;
  fields.add("model_type", one.model_type, other.model_type, FieldEffect::nothing);
  if (!one.layers.empty() && !other.layers.empty())
    fields.add("layers", one.layers.size(), other.layers.size(), FieldEffect::model);
  if (one.layers.size() == other.layers.size()) {
    add_layer_runs(
        one, other, &ModelLayer::encoding, [](auto encoding) { return text_of(encoding); }, fields);
    add_layer_runs(
        one, other, &ModelLayer::query_temperature,
        [](const auto& rule) {
          return message("query_temperature ", std::visit(TemperatureText{}, rule));
        },
        fields);
  }
  fields.add("encoder", text_of(one.encoder), text_of(other.encoder), FieldEffect::model);
  fields.add("sinusoidal", with_numbers(one.sinusoidal), with_numbers(other.sinusoidal),
             FieldEffect::model);
  fields.add("relative_bias", with_numbers(one.relative_bias), with_numbers(other.relative_bias),
             FieldEffect::model);
  fields.add("dual_chunk", text_of(one.dual_chunk), text_of(other.dual_chunk), FieldEffect::model);
  fields.add("softcap", one.softcap, other.softcap, FieldEffect::model);
  return std::move(fields).take();
}

}  // namespace rotary
