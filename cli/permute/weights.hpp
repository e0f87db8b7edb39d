// SPDX-License-Identifier: Apache-2.0
// Copies a checkpoint tensor by tensor and reorders the rows of queries and keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/files.hpp"
#include "cli/permute/projections.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli {

struct WeightFile {
  std::string path;
  std::string out;
  std::uint64_t data_bytes = 0;
};

// The tensors of one name in all layers.
struct PermutedTensors {
  std::string name;  // "model.layers.*.self_attn.q_proj.weight"
  std::int64_t tensors = 0;
  std::int64_t heads = 0;     // of each tensor
  std::int64_t head_dim = 0;  // rows of a head
};

struct Permutation {
  Pairing from = Pairing::half;
  Pairing to = Pairing::interleaved;
  std::vector<PermutedTensors> permuted = {};
  std::int64_t copied_tensors = 0;
  std::vector<WeightFile> files = {};
};

// Row i of a permuted head is row order[i] of the old head. Rows outside the window stay.
[[nodiscard]] std::vector<std::size_t> row_order(const HeadWindow& window, std::size_t first_row,
                                                 Pairing to);

// Reads the start of every file and plans each tensor. path: a safetensors file (out: a file) or an
// index *.json (out: a folder). Fails for malformed files and for tensors with unknown rows.
[[nodiscard]] Permutation plan_permutation(const Checkpoint& checkpoint, const std::string& path,
                                           const std::string& out, Pairing to);

// Writes all files or none.
void permute(const Checkpoint& checkpoint, const Permutation& permutation, Overwrite overwrite);

}  // namespace rotary::cli
