// SPDX-License-Identifier: Apache-2.0
// Writes a RotarySpec as JSON text that parse_rotary_spec() reads.
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/json/json.hpp"
#include "rotary/spec_json.hpp"

namespace rotary {
namespace {

void add(Json::Object& object, std::string_view key, Json value) {
  object.emplace(key, std::move(value));
}
void add(Json::Object& object, std::string_view key, std::string_view value) {
  add(object, key, Json(std::string(value)));
}

// Adds each parameter under its key. Leaves out default enumerators.
struct ParameterWriter {
  Json::Object& object;

  void operator()(const ParameterFacts& facts, double value) {
    add(object, facts.name, Json(value));
  }
  void operator()(const ParameterFacts& facts, std::int64_t value) {
    add(object, facts.name, Json(value));
  }
  void operator()(const ParameterFacts& facts, const std::optional<double>& value) {
    if (value) add(object, facts.name, Json(*value));
  }
  void operator()(const ParameterFacts& facts, const std::vector<double>& list) {
    add(object, facts.name, Json(Json::Array(list.begin(), list.end())));
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const ParameterFacts& facts, Enum value) {
    if (!is_default(value)) add(object, facts.name, enumerator_name(value));
  }
};

Json written(const Scaling& scaling) {
  Json::Object object;
  add(object, "rope_type", rope_type(scaling));
  for_each_parameter(scaling, ParameterWriter{object});
  return Json(std::move(object));
}

template <class Number>
void add_list(Json::Object& object, std::string_view key, const std::vector<Number>& list) {
  if (!list.empty()) add(object, key, Json(Json::Array(list.begin(), list.end())));
}

Json written(const Axes& axes) {
  Json::Object object;
  add_list(object, "pairs", axes.pairs);
  if (axes.arrangement != AxisArrangement::blocks)
    add(object, "arrangement", to_string(axes.arrangement));
  add(object, "exponents", to_string(axes.exponents));
  add_list(object, "order", axes.order);
  add_list(object, "bases", axes.bases);
  add_list(object, "scales", axes.scales);
  return Json(std::move(object));
}

Json written(const RotarySpec& spec) {
  Json::Object object;
  add(object, "head_dim", Json(spec.head_dim));
  if (spec.rotary_dim) add(object, "rotary_dim", Json(*spec.rotary_dim));
  if (spec.first_feature != 0) add(object, "first_feature", Json(spec.first_feature));
  add(object, "base", Json(spec.base.get()));
  add(object, "pairing", to_string(spec.pairing));
  if (!std::holds_alternative<NoScaling>(spec.scaling))
    add(object, "scaling", written(spec.scaling));
  if (spec.sense != Sense::positive) add(object, "sense", to_string(spec.sense));
  if (spec.xpos) {
    Json::Object xpos;
    add(xpos, "scale_base", Json(spec.xpos->scale_base));
    add(xpos, "center", Json(spec.xpos->center));
    add(object, "xpos", Json(std::move(xpos)));
  }
  if (spec.numerics != Numerics::exact) add(object, "numerics", to_string(spec.numerics));
  if (spec.rounding != Rounding::every_step) add(object, "rounding", to_string(spec.rounding));
  if (spec.axes) add(object, "axes", written(*spec.axes));
  if (spec.blocks != 1) add(object, "blocks", Json(spec.blocks));
  return Json(std::move(object));
}

Status check_finite(std::string_view member, const std::vector<double>& list) {
  for (const double value : list)
    if (!std::isfinite(value)) return invalid_argument(member, " must be finite, got ", value);
  return {};
}

// JSON cannot express infinite and NaN numbers.
Status check_finite(const RotarySpec& spec) {
  const Xpos xpos = spec.xpos.value_or(Xpos{});
  for (const auto& [member, value] :
       {std::pair{"base", spec.base.get()}, std::pair{"xpos.scale_base", xpos.scale_base},
        std::pair{"xpos.center", xpos.center}}) {
    if (!std::isfinite(value)) return invalid_argument(member, " must be finite, got ", value);
  }
  if (spec.axes) {
    if (auto status = check_finite("axes.bases", spec.axes->bases); !status) return status;
    if (auto status = check_finite("axes.scales", spec.axes->scales); !status) return status;
  }
  return validate(spec.scaling);
}

}  // namespace

Result<std::string> to_json(const RotarySpec& spec) noexcept {
  return guarded([&]() -> Result<std::string> {
    if (auto status = check_finite(spec); !status) return std::move(status).error();
    std::string text = written(spec).text();
    if (auto read = parse_rotary_spec(text); !read) {
      Error error = std::move(read).error();
      if (error.code == ErrorCode::malformed_input) error.code = ErrorCode::invalid_argument;
      return error;
    }
    return text;
  });
}

}  // namespace rotary
