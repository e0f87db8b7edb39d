// SPDX-License-Identifier: Apache-2.0
// Strict JSON for configs, and typed access to it. nlohmann/json parses; what it would let pass
// (duplicate keys, of which it keeps the last, and any depth) is refused here.
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

// Any JSON value. document: what messages call the text. Error: malformed_input, with the byte
// offset where it is known.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view document);

// The same, which must be an object.
[[nodiscard]] Result<Json> parse_config(std::string_view text,
                                        std::string_view document = "config");

// An object of the config together with the name under which messages speak of it.
struct ConfigObject {
  const Json* object;  // always a JSON object
  std::string path;    // "" for the whole config, "rope_scaling." inside it
};

// The value of a key, null and absent being the same (nullptr). A key "" is one that a family does
// not have: nothing is found, whatever the config has under it.
[[nodiscard]] const Json* find(const ConfigObject& from, std::string_view key);

// Absent keys give nothing; a value of another type is malformed_input naming the key. Integers may
// be written with a fraction of zero (8192.0); booleans and strings are no numbers.
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

// Text from outside as a message shows it: its first bytes, whole characters, nothing that a
// terminal obeys.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t longest = 60);

// A value as a message shows it: its JSON text, shortened.
[[nodiscard]] std::string describe(const Json& value);
[[nodiscard]] std::string describe(const std::string& value);

}  // namespace rotary
