// SPDX-License-Identifier: Apache-2.0
// Changes to a config before it is read, instead of editing the file.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Text that is not JSON becomes a string, so that nobody has to quote twice in a shell.
[[nodiscard]] Json override_value(const std::string& text);

// Applies overrides in order and creates missing objects on the way to a key. Errors:
// invalid_argument for an empty key or part of one, or if a value on the way is not an object.
[[nodiscard]] Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides);

// Requires that readers looked for every key that is set, by itself, within it or, of rope
// dictionaries, which refuse keys that they do not know, around it. Setting null only removes, and
// needs no reader. Error, or warning: invalid_argument, with the key that may be meant.
[[nodiscard]] Status check_overrides(std::span<const ConfigOverride> overrides,
                                     const std::set<std::string>& asked,
                                     std::vector<std::string>& warnings);

}  // namespace rotary
