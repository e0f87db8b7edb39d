// SPDX-License-Identifier: Apache-2.0
// Reads the metadata of GGUF files, recognised by their first bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/model_input.hpp"
#include "rotary/gguf.hpp"

namespace rotary::cli {

[[nodiscard]] inline bool is_gguf(std::string_view bytes) { return bytes.starts_with("GGUF"); }

// Absent unless it is a regular GGUF file; "-" is standard input.
[[nodiscard]] std::optional<GgufMetadata> read_gguf_file(const std::string& path);

// For a pipe, which was read whole.
[[nodiscard]] GgufMetadata gguf_of_bytes(std::string_view bytes, const std::string& path);

// Adds the sizes that commands need, under the keys of configs.
[[nodiscard]] ConfigFile gguf_config(GgufMetadata metadata);

}  // namespace rotary::cli
