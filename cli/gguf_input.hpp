// SPDX-License-Identifier: Apache-2.0
// Reads the metadata of GGUF files, which are recognised by their first bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/model_input.hpp"
#include "rotary/gguf.hpp"

namespace rotary::cli {

[[nodiscard]] inline bool is_gguf(std::string_view bytes) { return bytes.starts_with("GGUF"); }

// Empty unless the path ("-": standard input) is a regular GGUF file.
[[nodiscard]] std::optional<GgufMetadata> read_gguf_file(const std::string& path);

// For a pipe, whose bytes were read already.
[[nodiscard]] GgufMetadata gguf_of_bytes(std::string_view bytes, const std::string& path);

// Adds the sizes that commands need, under the keys of a config.
[[nodiscard]] ConfigFile gguf_config(GgufMetadata metadata);

}  // namespace rotary::cli
