// SPDX-License-Identifier: Apache-2.0
// Families whose class reads a config differently in some releases of Transformers. Sources: the
// modeling and configuration files of every minor release of 4 and of most of 5.
#pragma once

#include <string_view>

#include "model/dialects/rule_target.hpp"

namespace rotary::dialects {

enum class OwnClass {
  none,           // modeling_rope_utils.py is used
  without_rules,  // reads no rope_scaling
  fixed,          // reads neither rope_scaling nor a base
  last_call,      // knows linear and dynamic; LengthPolicy::last_long_call
  longest_call,   // knows linear and dynamic; LengthPolicy::longest_call
};

[[nodiscard]] OwnClass own_class(std::string_view model_type, const EngineVersion& version);

// Functions for DialectRule::edit.
bool forget_rope_parameters(ConfigEdit& config);
bool forget_keys_inside(ConfigEdit& config);
bool forget_rules(ConfigEdit& config);
bool forget_head_dim(ConfigEdit& config);
bool forget_partial(ConfigEdit& config);
bool forget_base_beside(ConfigEdit& config);
bool take_base_of_class(ConfigEdit& config);
bool take_rules_of_class(ConfigEdit& config);
bool forget_partial_inside(ConfigEdit& config);
bool take_head_dim_as_rope_dim(ConfigEdit& config);
bool take_maximum_as_longrope_original(ConfigEdit& config);

}  // namespace rotary::dialects
