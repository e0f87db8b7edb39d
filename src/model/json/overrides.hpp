// SPDX-License-Identifier: Apache-2.0
// Changes to a config before it is read, instead of editing the file.
#pragma once

#include <span>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Applies overrides in order and creates missing objects on the way to a key. Errors:
// invalid_argument for an empty key or part of one, or if a value on the way is not an object.
[[nodiscard]] Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides);

}  // namespace rotary
