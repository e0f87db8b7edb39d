// SPDX-License-Identifier: Apache-2.0
// Checks config keys about rotary embedding: finds those that are read, ignored or refused.
#pragma once

#include <string_view>

#include "model/families.hpp"
#include "model/json/reader.hpp"

namespace rotary {

// Whether a word of the key, between underscores, begins with rope, rotary, mrope or xdrope:
// rope_theta, no_rope_layers, attn_rotary_emb; not "properties".
[[nodiscard]] bool speaks_of_rope(std::string_view original);

[[nodiscard]] bool reads_key(const Family& family, std::string_view key);

// Adds an error for an unknown key. next_step: the end of the message.
void refuse_rope_key(Reader& config, std::string_view key, const Json& value,
                     std::string_view next_step);

// Warns about keys that only other families read. Adds an error for an unknown one.
void check_rope_keys(Reader& config, const Family& family);

}  // namespace rotary
