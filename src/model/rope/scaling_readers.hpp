// SPDX-License-Identifier: Apache-2.0
// One reader for each rope_type: it reads the keys it knows from the dictionary; all others are
// refused by name. Defaults and precedence follow modeling_rope_utils.py of Transformers 5.
#pragma once

#include <optional>
#include <string_view>

#include "model/rope/dictionary_reader.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// Specs can express every rule; configs use fewer rules, some under more than one name.
enum class UsedIn { configs_and_specs, specs, configs };

struct RopeType {
  std::string_view name;  // rope_type() of the rule, or another name in configs
  Scaling (*read)(DictionaryReader&);
  UsedIn used_in = UsedIn::configs_and_specs;
  PartialRotaryFactor partial_rotary_factor = PartialRotaryFactor::sets_rotary_dim;
  std::optional<RopeDialect> dialect = {};  // in this dialect the name means this rule
};

// Error: unsupported.
[[nodiscard]] Result<const RopeType*> find_rope_type(const DictionaryReader& reader,
                                                     std::string_view name);

// Readers with a file of their own.
[[nodiscard]] Scaling read_longrope(DictionaryReader& reader);
[[nodiscard]] Scaling read_phi3_yarn(DictionaryReader& reader);  // "yarn" in RopeDialect::phi3
[[nodiscard]] Scaling read_yarn(DictionaryReader& reader);

}  // namespace rotary
