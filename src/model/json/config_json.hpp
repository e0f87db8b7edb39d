// SPDX-License-Identifier: Apache-2.0
// Strict JSON for configs, with typed access. nlohmann/json parses; duplicate keys, of which it
// keeps the last, and unlimited depth are refused here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// An object of the config with its name in messages.
struct ConfigObject {
  const Json* object;  // always a JSON object
  std::string path;    // "" for the whole config, "rope_scaling." inside it
};

// The value of a key; nullptr if it is absent or null. Families use the key "" for keys they do not
// have: it is never found, whatever the config has under it.
[[nodiscard]] const Json* find(const ConfigObject& from, std::string_view key);

// Nothing if the key is absent. Error: malformed_input, naming the key, for a value of another
// type. Integers may be written with a zero fraction (8192.0); booleans and strings are not
// numbers.
[[nodiscard]] Result<std::optional<double>> read_number(const ConfigObject& from,
                                                        std::string_view key);
[[nodiscard]] Result<std::optional<std::int64_t>> read_integer(const ConfigObject& from,
                                                               std::string_view key);
[[nodiscard]] Result<std::optional<bool>> read_boolean(const ConfigObject& from,
                                                       std::string_view key);
[[nodiscard]] Result<std::optional<std::vector<double>>> read_numbers(const ConfigObject& from,
                                                                      std::string_view key);
[[nodiscard]] Result<std::optional<std::string>> read_string(const ConfigObject& from,
                                                             std::string_view key);

// Outside text as messages show it: its first bytes, in whole characters, without control
// characters that a terminal obeys.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t longest = 60);

// A value as messages show it: its JSON text, shortened.
[[nodiscard]] std::string describe(const Json& value);
[[nodiscard]] std::string describe(const std::string& value);

}  // namespace rotary
