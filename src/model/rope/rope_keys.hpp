// SPDX-License-Identifier: Apache-2.0
// Config keys that speak of rotary embedding: each is read, known to have no effect, or refused by
// name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Whether a word of the key (between underscores) begins like rope, rotary, mrope or xdrope:
// rope_theta, no_rope_layers, mrope_section, attn_rotary_emb; not "properties".
[[nodiscard]] bool speaks_of_rope(std::string_view key);

// Whether the family's class reads this key.
[[nodiscard]] bool reads_key(const Family& family, std::string_view key);

// Warns about keys that only other families read; refuses unknown ones.
[[nodiscard]] Status check_rope_keys(const ConfigObject& config, const Family& family,
                                     std::vector<std::string>& warnings);

}  // namespace rotary
