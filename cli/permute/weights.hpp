// SPDX-License-Identifier: Apache-2.0
// Copies a checkpoint, a safetensors file or an index of several, tensor by tensor, and reorders
// the rows of queries and keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/files.hpp"
#include "cli/permute/projections.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli {

// Input and output of one file.
struct WeightFile {
  std::string path;
  std::string out;
  std::uint64_t data_bytes = 0;
};

// Permuted tensors that differ in the number of their layer alone.
struct PermutedTensors {
  std::string name;  // "model.layers.*.self_attn.q_proj.weight"
  std::int64_t tensors = 0;
  std::int64_t heads = 0;     // of each
  std::int64_t head_dim = 0;  // rows of a head
};

struct Permutation {
  Pairing from = Pairing::half;
  Pairing to = Pairing::interleaved;
  std::vector<PermutedTensors> permuted;
  std::int64_t copied_tensors = 0;
  std::vector<WeightFile> files;
};

// Row i of a permuted head is row order[i] of the head as it was. Outside of the window rows stay.
// from and to are half or interleaved, and differ.
[[nodiscard]] std::vector<std::size_t> row_order(const HeadWindow& window, std::size_t first_row,
                                                 Pairing to);

// Reads the start of every file, and decides what happens to each tensor. path is a file of
// safetensors, for which out is a file, or an index (*.json), for which out is a folder. Failure
// for files that are not what their format says, and for tensors whose rows cannot be told.
[[nodiscard]] Permutation plan_permutation(const Checkpoint& checkpoint, const std::string& path,
                                           const std::string& out, Pairing to);

// Writes all files, or none.
void permute(const Checkpoint& checkpoint, const Permutation& permutation, Overwrite overwrite);

}  // namespace rotary::cli
