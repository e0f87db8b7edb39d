// SPDX-License-Identifier: Apache-2.0
// Rotary embedding by its numbers instead of a config: the names "rope" and "xpos", with --set.
#pragma once

#include <string_view>

#include "cli/model_options.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// Names of rotary embedding itself, whose numbers are those of --set, as a spec has them.
inline constexpr std::string_view rope_name = "rope";
inline constexpr std::string_view xpos_name = "xpos";

// A spec of --set alone: its members, as rotary/spec_json.hpp says. arguments.config is the name.
[[nodiscard]] ModelSpec model_of_settings(const ModelOptions& arguments);

}  // namespace rotary::cli
