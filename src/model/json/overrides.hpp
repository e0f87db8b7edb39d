// SPDX-License-Identifier: Apache-2.0
// Changes a config before it is read, so that nobody has to edit the file.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// The value of an override. Text that is not JSON becomes a string, so that nobody has to quote
// twice in a shell.
[[nodiscard]] Json override_value(const std::string& text);

// Applies overrides in order and creates missing objects on the way to a key. Errors:
// invalid_argument for an empty key or part of one, or if a value on the way is not an object.
[[nodiscard]] Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides);

// Checks that readers looked for every key that an override sets, or for a key inside it. For keys
// in rope dictionaries it is enough that the dictionary was read, because unknown keys in it are
// refused. A key that is set to null is only removed and needs no reader. Otherwise an error or a
// warning: invalid_argument, with the key that was probably meant.
[[nodiscard]] Status check_overrides(std::span<const ConfigOverride> overrides,
                                     const std::set<std::string>& asked,
                                     std::vector<std::string>& warnings);

}  // namespace rotary
