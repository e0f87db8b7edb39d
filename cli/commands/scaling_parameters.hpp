// SPDX-License-Identifier: Apache-2.0
// A scaling rule's parameters under the names that config files use, so that what inspect prints
// can be compared with a config line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rotary/scaling.hpp"

namespace rotary::cli {

using ParameterValue = std::variant<double, std::int64_t, std::string_view, std::vector<double>>;

struct ScalingParameter {
  ParameterFacts facts;
  ParameterValue value;
};

// In the order in which the rule states them; optional ones only when given.
[[nodiscard]] std::vector<ScalingParameter> scaling_parameters(const Scaling& scaling);

// A list of more than 8 numbers shows the first, the last and how many.
[[nodiscard]] std::string parameter_text(const ParameterValue& value);

}  // namespace rotary::cli
