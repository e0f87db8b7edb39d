// SPDX-License-Identifier: Apache-2.0
// One reader for each rope_type: it takes what it knows from the dictionary; whatever key is left
// is refused by name. Defaults and precedence follow modeling_rope_utils.py of Transformers 5.
#pragma once

#include <string_view>

#include "model/dictionary_reader.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// Every rule has its form in a spec; configs use fewer.
enum class UsedIn { configs_and_specs, specs };

struct RopeType {
  std::string_view name;  // rope_type() of the rule
  Scaling (*read)(DictionaryReader&);
  UsedIn used_in = UsedIn::configs_and_specs;
  PartialRotaryFactor partial_rotary_factor = PartialRotaryFactor::sets_rotary_dim;
};

// from: the dictionary that has this rope_type, for the message. Error: unsupported.
[[nodiscard]] Result<const RopeType*> find_rope_type(const ConfigObject& from, Document document,
                                                     std::string_view name);

// Those with a file of their own.
[[nodiscard]] Scaling read_yarn(DictionaryReader& reader);

}  // namespace rotary
