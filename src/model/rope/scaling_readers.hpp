// SPDX-License-Identifier: Apache-2.0
// One reader for each rope_type: it takes what it knows from the dictionary; whatever key is left
// is refused by name. Defaults and precedence follow modeling_rope_utils.py of Transformers 5.
#pragma once

#include <optional>
#include <string_view>

#include "model/rope/dictionary_reader.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// Every rule has its form in a spec; configs use fewer, some under more than one name.
enum class UsedIn { configs_and_specs, specs, configs };

struct RopeType {
  std::string_view name;  // rope_type() of the rule, or another name of it in configs
  Scaling (*read)(DictionaryReader&);
  UsedIn used_in = UsedIn::configs_and_specs;
  PartialRotaryFactor partial_rotary_factor = PartialRotaryFactor::sets_rotary_dim;
  std::optional<RopeDialect> dialect = {};  // the one in which the name means this, before others
};

// Error: unsupported.
[[nodiscard]] Result<const RopeType*> find_rope_type(const DictionaryReader& reader,
                                                     std::string_view name);

// Those with a file of their own.
[[nodiscard]] Scaling read_longrope(DictionaryReader& reader);
[[nodiscard]] Scaling read_phi3_yarn(DictionaryReader& reader);  // "yarn" in RopeDialect::phi3
[[nodiscard]] Scaling read_yarn(DictionaryReader& reader);

}  // namespace rotary
