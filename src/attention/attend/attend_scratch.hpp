// SPDX-License-Identifier: Apache-2.0
// The scratch memory of one thread of attend(), and the layout of a query block's rows in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/attend/bias/bias_tables.hpp"
#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// Most query rows of a block. All rows share each packed tile of keys. The tile and the sums of all
// rows stay in the L2 cache.
inline constexpr std::int64_t rows_of_block = 1032;

// Up to this many rows read the keys in place, without packing them.
inline constexpr std::int64_t most_streamed_rows = 16;

// Query rows loaded or stored at a time.
inline constexpr std::int64_t rows_of_load = 4 * kernels::rows_of_group;

// Bias rows made at a time for a tile of keys.
inline constexpr std::int64_t rows_of_bias = std::max(kernels::rows_of_group, most_streamed_rows);

// The largest number of cache blocks that hold a tile and the keys prefetched after it.
inline constexpr std::int64_t blocks_of_tile = kernels::keys_of_tile + kernels::keys_fetched_ahead;

enum class KeyPath { packed, streamed };

// Rows are loaded in runs. A run is all heads of a single query, or all queries of one head.
struct BlockShape {
  std::int64_t queries = 0;  // tokens
  std::int64_t group = 0;    // query heads of the kv head
  KeyPath path = KeyPath::packed;

  [[nodiscard]] std::int64_t runs() const noexcept { return queries == 1 ? 1 : group; }
  [[nodiscard]] std::int64_t rows_of_run() const noexcept { return queries == 1 ? group : queries; }
  // Rows from the start of one run to the next, including padding rows.
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

// Sizes of the largest block of a call.
struct ScratchSizes {
  std::int64_t rows = 0;           // of one kv head
  std::int64_t rows_of_heads = 0;  // of all kv heads of a block
  std::int64_t head_dim = 0;
  std::int64_t features = 0;         // of a value head
  std::int64_t key_distances = 0;    // Shaw's key vectors; 0: none
  std::int64_t value_distances = 0;  // Shaw's value vectors; 0: none
  bool has_changes = false;          // a softcap, or an additive or boolean mask
  bool has_scales = false;           // keys or values in 8 bits
  BiasSizes bias;
};

struct Scratch {
  KeyRun* sinks = nullptr;                // [rows]
  KeyRun* windows = nullptr;              // [rows]
  kernels::RowLimits* limits = nullptr;   // [rows]
  kernels::RowChange* changes = nullptr;  // [rows]; null: scores stay as they are
  std::uint64_t* seen = nullptr;          // as in ScoreChanges
  const void** queries = nullptr;         // [rows_of_load]
  void** results = nullptr;               // [rows_of_load]
  float* scales = nullptr;                // [rows_of_load]
  float* loaded = nullptr;                // max(rows_of_load, rows_of_heads) rows
  float* packed_queries = nullptr;        // all rows, packed
  kernels::SoftmaxState state = {};       // of rows_of_heads rows
  const void** keys = nullptr;            // [blocks_of_tile]
  const void** values = nullptr;          // [blocks_of_tile]
  float* key_scales = nullptr;            // [keys_of_tile]; null: not in 8 bits
  float* value_scales = nullptr;          // [keys_of_tile]; null: not in 8 bits
  const void** next = nullptr;            // [2 * keys_of_tile], keys and values of the next tile
  float* packed_keys = nullptr;           // keys_of_tile keys, packed
  float* packed_values = nullptr;         // keys_of_tile values, packed
  float* of_kernels = nullptr;
  BiasMemory bias;
  float* distance_scores = nullptr;  // [rows_of_heads][distance_scores_size(key_distances)]
};

// memory: scratch_bytes(sizes), aligned to attend_alignment.
[[nodiscard]] Scratch scratch_in(std::byte* memory, const ScratchSizes& sizes) noexcept;

// A multiple of attend_alignment; SIZE_MAX / 2 or more for absurd sizes.
[[nodiscard]] std::size_t scratch_bytes(const ScratchSizes& sizes) noexcept;

}  // namespace rotary
