// SPDX-License-Identifier: Apache-2.0
// What a config must keep to for its query factors to be finite at every position.
#pragma once

#include "rotary/query_temperature.hpp"
#include "rotary/result.hpp"

namespace rotary {

[[nodiscard]] Status validate(const QueryTemperature& temperature);

}  // namespace rotary
