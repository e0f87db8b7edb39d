// SPDX-License-Identifier: Apache-2.0
// Strict JSON for configs, parsed by nlohmann/json. Refuses duplicate keys and deep nesting, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "model/json/json.hpp"
#include "rotary/result.hpp"

namespace rotary {

inline constexpr std::size_t max_config_bytes = std::size_t{16} << 20;
inline constexpr int max_config_depth = 64;

// Parses any JSON value. document: the name of the text in messages. Error: malformed_input, with
// the byte offset if it is known.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view document);

// Parses text that must be an object.
[[nodiscard]] Result<Json> parse_config(std::string_view text,
                                        std::string_view document = "config");

// The first bytes of a text for messages, cut between characters, without control characters.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t longest = 60);

// A value for messages: its shortened JSON text, or only its size if it has more than 16 entries.
[[nodiscard]] std::string describe(const Json& value);
[[nodiscard]] std::string describe(const std::string& value);

}  // namespace rotary
