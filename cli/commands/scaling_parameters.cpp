// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/scaling_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <type_traits>

namespace rotary::cli {
namespace {

using Parameters = std::vector<ScalingParameter>;

// An enumerator is shown where it is not the default.
struct ParameterLister {
  Parameters& parameters;

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

}  // namespace

Parameters scaling_parameters(const Scaling& scaling) {
  Parameters parameters;
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

}  // namespace rotary::cli
