// SPDX-License-Identifier: Apache-2.0
// The memory that one thread of attend() works in, and how the rows of a block of queries lie
// there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/attend/bias/bias_tables.hpp"
#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// Query rows that meet a tile of keys before the next tile is packed. Packing is paid once for all
// of them; their sums and the packed tile stay in the second-level cache.
inline constexpr std::int64_t rows_of_block = 1032;

// So few rows go through the keys as they lie, unpacked.
inline constexpr std::int64_t most_streamed_rows = 16;

// Query rows that are loaded, or stored, at once.
inline constexpr std::int64_t rows_of_load = 4 * kernels::rows_of_group;

// Rows that have a bias of their own, made for a tile of keys, at once.
inline constexpr std::int64_t rows_of_bias = std::max(kernels::rows_of_group, most_streamed_rows);

// The most blocks of keys that a tile, and what is fetched behind it, can lie in.
inline constexpr std::int64_t blocks_of_tile = kernels::keys_of_tile + kernels::keys_fetched_ahead;

enum class KeyPath { packed, streamed };

// Runs of neighbouring rows, each loaded on its own: the heads of a single query, or else the
// queries of a head.
struct BlockShape {
  std::int64_t queries = 0;  // tokens
  std::int64_t group = 0;    // query heads of the kv head
  KeyPath path = KeyPath::packed;

  [[nodiscard]] std::int64_t runs() const noexcept { return queries == 1 ? 1 : group; }
  [[nodiscard]] std::int64_t rows_of_run() const noexcept { return queries == 1 ? group : queries; }
  // From one run to the next; the rows between belong to no query.
  [[nodiscard]] std::int64_t run_stride() const noexcept {
    return path == KeyPath::streamed ? rows_of_run()
                                     : kernels::rounded_up(rows_of_run(), kernels::rows_of_group);
  }
  [[nodiscard]] std::int64_t rows() const noexcept { return runs() * run_stride(); }
  [[nodiscard]] std::int64_t query_of(std::int64_t index_in_run) const noexcept {
    return queries == 1 ? 0 : index_in_run;
  }
  [[nodiscard]] std::int64_t head_of(std::int64_t run, std::int64_t index_in_run) const noexcept {
    return queries == 1 ? index_in_run : run;
  }
};

// The largest block of a call.
struct ScratchSizes {
  std::int64_t rows = 0;           // of one kv head
  std::int64_t rows_of_heads = 0;  // of all kv heads of a block
  std::int64_t head_dim = 0;
  std::int64_t features = 0;         // of values
  std::int64_t key_distances = 0;    // vectors of Shaw's that the keys have; 0: none
  std::int64_t value_distances = 0;  // and the values
  BiasSizes bias;
};

struct Scratch {
  KeyRun* sinks = nullptr;               // [rows]
  KeyRun* windows = nullptr;             // [rows]
  kernels::RowLimits* limits = nullptr;  // [rows]
  const void** queries = nullptr;        // [rows_of_load]
  void** results = nullptr;              // [rows_of_load]
  float* scales = nullptr;               // [rows_of_load]
  float* loaded = nullptr;               // of rows_of_load, or of rows_of_heads where streamed
  float* packed_queries = nullptr;       // of rows
  kernels::SoftmaxState state = {};      // of rows_of_heads
  const void** keys = nullptr;           // [blocks_of_tile]
  const void** values = nullptr;         // [blocks_of_tile]
  const void** next = nullptr;           // [2 * keys_of_tile], keys and values of the next tile
  float* packed_keys = nullptr;          // of keys_of_tile
  float* packed_values = nullptr;        // of keys_of_tile
  float* of_kernels = nullptr;
  BiasMemory bias;
  float* distance_scores = nullptr;  // of rows_of_heads, [distance_scores_size(key_distances)]
};

// memory: scratch_bytes(sizes), aligned to attend_alignment.
[[nodiscard]] Scratch scratch_in(std::byte* memory, const ScratchSizes& sizes) noexcept;

// A multiple of attend_alignment; SIZE_MAX / 2 or more where sizes are absurd.
[[nodiscard]] std::size_t scratch_bytes(const ScratchSizes& sizes) noexcept;

}  // namespace rotary
