// SPDX-License-Identifier: Apache-2.0
// Changes a config before it is read.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// The value of an override. Text that is not JSON becomes a string, for shells.
[[nodiscard]] Json override_value(const std::string& text);

// Applies overrides in order; creates missing objects on the way to a key. invalid_argument: a key
// or a part of it is empty, or a value on the way is not an object.
[[nodiscard]] Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides);

// Checks that readers looked for every key that an override sets, or for a key inside it. Null
// values pass, and so do keys of a rope dictionary that was read: other code checks these. Reports
// other keys as ConfigOverride::unread says, with the key that was probably meant.
[[nodiscard]] Status check_overrides(std::span<const ConfigOverride> overrides,
                                     const std::set<std::string>& asked,
                                     std::vector<std::string>& warnings);

}  // namespace rotary
