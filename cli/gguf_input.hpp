// SPDX-License-Identifier: Apache-2.0
// GGUF files as inputs, recognised by their first bytes. Nothing but the bytes that are needed is
// read of a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/model_input.hpp"
#include "rotary/gguf.hpp"

namespace rotary::cli {

[[nodiscard]] inline bool is_gguf(std::string_view bytes) { return bytes.starts_with("GGUF"); }

// Absent for a file that is not GGUF, or no regular one; "-" is standard input.
[[nodiscard]] std::optional<GgufMetadata> read_gguf_file(const std::string& path);

// Reads the bytes of a pipe, which was read whole.
[[nodiscard]] GgufMetadata gguf_of_bytes(std::string_view bytes, const std::string& path);

// With the sizes that commands want beside a model's positions, as a config's keys.
[[nodiscard]] ConfigFile gguf_config(GgufMetadata metadata);

}  // namespace rotary::cli
