// SPDX-License-Identifier: Apache-2.0
// The index of a checkpoint with several files (model.safetensors.index.json).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

// Four times the index of the largest published checkpoints.
inline constexpr std::uint64_t most_index_bytes = std::uint64_t{64} << 20;

// The tensors in an index, by file.
using FilesOfIndex = std::map<std::string, std::vector<std::string>>;

// Reads the text without a JSON tree: at most 2^20 tensors, and 64 levels in other members. Fails
// as malformed_input, with the path first.
[[nodiscard]] FilesOfIndex parse_weight_index(std::string_view json, const std::string& path);

}  // namespace rotary::cli
