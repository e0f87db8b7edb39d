// SPDX-License-Identifier: Apache-2.0
// Strict JSON for configs. nlohmann/json does the parsing. Refused here: duplicate keys, of which
// nlohmann/json would keep the last, and too many levels of nesting.
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

// Text from outside as messages show it: its first bytes, cut between characters, without control
// characters that would affect a terminal.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t longest = 60);

// A value as messages show it: its JSON text, shortened.
[[nodiscard]] std::string describe(const Json& value);
[[nodiscard]] std::string describe(const std::string& value);

}  // namespace rotary
