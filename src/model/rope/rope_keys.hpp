// SPDX-License-Identifier: Apache-2.0
// Config keys about rotary embedding: each is read, has no effect, or is refused by name.
#pragma once

#include <string_view>

#include "model/families.hpp"
#include "model/json/reader.hpp"

namespace rotary {

// Whether a word of the key (between underscores) begins like rope, rotary, mrope or xdrope:
// rope_theta, no_rope_layers, mrope_section, attn_rotary_emb; not "properties".
[[nodiscard]] bool speaks_of_rope(std::string_view original);

[[nodiscard]] bool reads_key(const Family& family, std::string_view key);

// Adds an error for a key that is not understood. next_step: the end of the message.
void refuse_rope_key(Reader& config, std::string_view key, const Json& value,
                     std::string_view next_step);

// Warns about keys that only other families read. Adds an error for an unknown one.
void check_rope_keys(Reader& config, const Family& family);

}  // namespace rotary
