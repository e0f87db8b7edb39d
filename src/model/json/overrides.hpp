// SPDX-License-Identifier: Apache-2.0
// Changes to a config before it is read: what a person would otherwise edit in the file.
#pragma once

#include <span>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// In order; objects on the way to a key are made where there are none. Errors: invalid_argument for
// an empty key or part of one, or a value on the way that is no object.
[[nodiscard]] Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides);

}  // namespace rotary
