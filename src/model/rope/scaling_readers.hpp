// SPDX-License-Identifier: Apache-2.0
// One reader for each rope_type of configs: it reads the keys it knows from the dictionary; all
// others are refused by name. Defaults and precedence follow modeling_rope_utils.py of Transformers
// 5. In specs the facts of each rule's parameters are its reader.
#pragma once

#include <optional>
#include <string_view>

#include "model/rope/dictionary_reader.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

struct RopeType {
  std::string_view name;  // rope_type() of the rule, or another name in configs
  Scaling (*read)(DictionaryReader&);
  PartialRotaryFactor partial_rotary_factor = PartialRotaryFactor::sets_rotary_dim;
  std::optional<RopeDialect> dialect = {};  // in this dialect the name means this rule
};

// Error: unsupported.
[[nodiscard]] Result<const RopeType*> find_rope_type(const DictionaryReader& reader,
                                                     std::string_view name);

// The rule of this name with the keys of a spec. Error: unsupported for an unknown name; the
// reader keeps that of a key.
[[nodiscard]] Result<Scaling> read_spec_rule(DictionaryReader& reader, std::string_view name);

// Readers with a file of their own.
[[nodiscard]] Scaling read_longrope(DictionaryReader& reader);
[[nodiscard]] Scaling read_phi3_yarn(DictionaryReader& reader);  // "yarn" in RopeDialect::phi3
[[nodiscard]] Scaling read_yarn(DictionaryReader& reader);

}  // namespace rotary
