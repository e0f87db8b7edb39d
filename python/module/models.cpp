// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "module/errors.hpp"
#include "module/facts.hpp"
#include "module/module.hpp"
#include "rotary/dialect.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::python {
namespace {

nb::list facts_of(const std::vector<ValueSource>& sources) {
  nb::list list;
  for (const auto& source : sources) {
    list.append(nb::make_tuple(source.value, to_string(source.origin), source.key));
  }
  return list;
}

nb::dict facts_of(const ModelRotary& rotary) {
  nb::dict facts;
  facts["layer_type"] = rotary.layer_type;
  facts["spec"] = take(to_json(rotary.spec));
  facts["softmax_factor"] = rotary.softmax_factor;
  facts["nope_head_dim"] = rotary.nope_head_dim;
  facts["trained_context_tokens"] = rotary.trained_context_tokens;
  facts["sources"] = facts_of(rotary.sources);
  return facts;
}

nb::object facts_of(const QueryTemperature& temperature) {
  nb::dict facts;
  if (const auto* const step = std::get_if<StepTemperature>(&temperature)) {
    facts["rule"] = "step";
    facts["scale"] = step->scale;
    facts["interval_tokens"] = step->interval_tokens;
    facts["offset"] = step->offset;
  } else if (const auto* const logn = std::get_if<LognTemperature>(&temperature)) {
    facts["rule"] = "logn";
    facts["trained_tokens"] = logn->trained_tokens;
  } else if (const auto* const power = std::get_if<PowerTemperature>(&temperature)) {
    facts["rule"] = "power";
    facts["exponent"] = power->exponent;
    facts["interval_tokens"] = power->interval_tokens;
  } else {
    return nb::none();
  }
  return facts;
}

nb::object facts_of(const std::optional<GgufModel>& gguf) {
  if (!gguf) return nb::none();
  nb::dict facts;
  facts["rope_type"] = gguf->rope_type;
  facts["rows"] = name_or_none(gguf->rows);
  facts["checkpoint_pairing"] = name_or_none(gguf->checkpoint_pairing);
  facts["unstated"] = gguf->unstated;
  return facts;
}

nb::dict facts_of(const ModelSpec& model) {
  nb::dict facts;
  nb::list rotary;
  for (const auto& each : model.rotary) rotary.append(facts_of(each));
  nb::list layers;
  for (const auto& layer : model.layers) {
    const bool rotates = layer.encoding == LayerEncoding::rotary;
    layers.append(nb::make_tuple(to_string(layer.encoding),
                                 rotates ? nb::cast(layer.rotary) : nb::none(),
                                 facts_of(layer.query_temperature)));
  }
  facts["model_type"] = model.model_type;
  facts["config_part"] = model.config_part;
  facts["rotary"] = rotary;
  facts["layers"] = layers;
  facts["warnings"] = model.warnings;
  facts["softcap"] = model.softcap;
  facts["relative_bias"] = name_or_none(model.relative_bias);
  facts["sources"] = facts_of(model.sources);
  facts["gguf"] = facts_of(model.gguf);
  return facts;
}

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Reads pairing, context_tokens, numerics, part and overrides; absent options keep their defaults.
ResolveOptions options_of(const nb::dict& given) {
  ResolveOptions options;
  for (const auto [name, value] : given) {
    const auto key = nb::cast<std::string>(name);
    if (key == "pairing") {
      options.pairing = named(all_pairings, nb::cast<std::string>(value), key);
    } else if (key == "context_tokens") {
      options.context_tokens = nb::cast<std::int64_t>(value);
    } else if (key == "numerics") {
      options.numerics = named(all_numerics, nb::cast<std::string>(value), key);
    } else if (key == "part") {
      options.part = named(all_model_parts, nb::cast<std::string>(value), key);
    } else {
      for (auto& [path, text] : nb::cast<Overrides>(value)) {
        options.overrides.push_back({std::move(path), std::move(text)});
      }
    }
  }
  return options;
}

ModelSpec resolve_text(std::string_view config, const nb::dict& options) {
  return take(resolve(config, options_of(options)));
}

ModelSpec load(const std::string& path, const nb::dict& options) {
  return take(load_model(path, options_of(options)));
}

// Returns (model, kind of evidence, its sentence, disputes).
nb::tuple resolve_as(std::string_view config, std::string_view dialect, const nb::dict& options) {
  auto reading =
      take(read_as(config, take(parse_dialect(dialect), "read_as"), options_of(options)));
  if (reading.refusal) {
    raise(Error{.code = ErrorCode::unsupported,
                .message = std::string(dialect) + " does not run the model: " + *reading.refusal});
  }
  for (const DialectRule* const rule : reading.acted) {
    reading.model.warnings.push_back(std::string(dialect) + ": " + std::string(rule->sentence));
  }
  if (reading.evidence.kind == Evidence::none)
    reading.model.warnings.push_back(reading.evidence.sentence);
  return nb::make_tuple(std::move(reading.model), to_string(reading.evidence.kind),
                        reading.evidence.sentence, reading.disputes);
}

nb::dict facts_of(const RowsDifference& rows) {
  nb::dict facts;
  facts["first_position"] = rows.first_position;
  facts["at_first"] = rows.at_first;
  facts["pairs"] = rows.pairs;
  facts["same_features"] = rows.same_features;
  facts["largest_angle_error"] = rows.largest_angle_error;
  facts["largest_angle_pair"] = rows.largest_angle_pair;
  facts["largest_score_change"] = rows.largest_score_change;
  facts["least_correlation"] = rows.least_correlation;
  facts["least_correlation_distance"] = rows.least_correlation_distance;
  return facts;
}

nb::dict facts_of(const RotaryDifference& rotary) {
  nb::dict facts;
  facts["one"] = rotary.one;
  facts["other"] = rotary.other;
  facts["layers"] = rotary.layers;
  facts["fields"] = field_facts(rotary.fields);
  facts["rows"] = facts_of(rotary.rows);
  facts["not_comparable"] = rotary.not_comparable;
  facts["differs"] = rotary.differs();
  return facts;
}

nb::dict compare(const ModelSpec& one, const ModelSpec& other,
                 std::optional<std::int64_t> context_tokens) {
  const auto difference = take(compare_models(one, other, {.context_tokens = context_tokens}));
  nb::dict facts;
  nb::list rotary;
  for (const auto& each : difference.rotary) rotary.append(facts_of(each));
  facts["context_tokens"] = difference.context_tokens;
  facts["fields"] = field_facts(difference.fields);
  facts["rotary"] = rotary;
  facts["differs"] = difference.differs();
  return facts;
}

}  // namespace

void bind_models(nb::module_& module) {
  nb::class_<ModelSpec>(module, "Model")
      .def_static("resolve", resolve_text)
      .def_static("resolve_as", resolve_as)
      .def_static("load", load)
      .def("facts", [](const ModelSpec& self) { return facts_of(self); })
      .def("compare", compare);
}

}  // namespace rotary::python
