// SPDX-License-Identifier: Apache-2.0
// The index of a checkpoint of several files (model.safetensors.index.json).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

// The index of the largest published checkpoints has a quarter of these.
inline constexpr std::uint64_t most_index_bytes = std::uint64_t{64} << 20;

// Tensors of an index by the file that has them.
using FilesOfIndex = std::map<std::string, std::vector<std::string>>;

// Reads the text without a tree of it: at most 2^20 tensors, and 64 levels in other members.
// Failure: malformed_input, with the path in front.
[[nodiscard]] FilesOfIndex parse_weight_index(std::string_view json, const std::string& path);

}  // namespace rotary::cli
