// SPDX-License-Identifier: Apache-2.0
// Cuts a call of attend() into units of work. Sequences of many queries are cut into blocks of
// queries, sequences of few queries into splits of their keys. Only the number of kv heads per unit
// depends on the executor, and no bit of the result depends on that number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/bias/score_bias.hpp"
#include "attention/attend/bias/shaw_vectors.hpp"
#include "attention/attend/bounded_count.hpp"
#include "attention/attend/key_splits.hpp"

namespace rotary {

// A unit of work on one sequence. It is either a block of queries with all query heads of one kv
// head and every key they see, or few queries with one or more kv heads and one split of the keys.
struct QueryBlock {
  std::int64_t sequence = 0;
  std::int64_t first_query = 0;  // within the sequence
  std::int64_t first_kv_head = 0;
  std::int64_t kv_heads = 1;
  BlockShape shape;        // per kv head
  KeyRun keys;             // limits the keys that the queries see
  std::int64_t split = 0;  // index of these keys among `splits`
  std::int64_t splits = 1;
  std::int64_t first_partial_row = 0;  // in PartialStates: [splits][kv_heads][rows]; if splits > 1
  std::int64_t partial_block = 0;

  [[nodiscard]] std::int64_t rows() const noexcept { return kv_heads * shape.rows(); }
};

// The sizes that decide how a call is cut into units.
struct CallSizes {
  Sequences sequences;
  AttentionMask mask;
  Executor executor;
  std::int64_t group = 0;  // query heads per kv head
  std::int64_t kv_heads = 0;
  std::int64_t distances = 0;  // rows of Shaw's tables
  bool has_weights = false;
  bool has_one_dtype = true;  // of keys and values
};

// If units is 0, workers is 0 and `sizes` has no meaning.
struct Plan {
  CallSizes of;
  std::int64_t units = 0;
  std::int64_t workers = 0;           // each has its own memory; at least 1 if there are units
  std::int64_t queries_of_block = 1;  // the last block of a sequence may have fewer
  std::int64_t heads_of_unit = 1;     // kv heads per unit where keys are streamed
  std::int64_t partial_rows = 0;      // rows of PartialStates
  std::int64_t partial_blocks = 0;
  ScratchSizes sizes;
  // Memory of the call: Shaw's vectors, the scratch memory of each worker, PartialStates.
  std::size_t shaw_bytes = 0;
  std::size_t worker_bytes = 0;
  std::size_t partial_bytes = 0;

  [[nodiscard]] std::byte* worker_in(std::byte* memory, std::int64_t worker) const noexcept {
    return memory + shaw_bytes + static_cast<std::size_t>(worker) * worker_bytes;
  }
  [[nodiscard]] std::size_t bytes() const noexcept;
};

[[nodiscard]] Plan plan_of(const AttendCall& call, const ScoreBias* bias,
                           const ShawOfCall& shaw) noexcept;

// States of blocks that cover one split of their keys. They are kept until the splits are merged.
struct PartialStates {
  kernels::SoftmaxState states = {};
  std::int32_t* finished = nullptr;  // finished splits per block, counted atomically
};

// memory: plan.bytes() bytes. Sets every count of finished splits to 0.
[[nodiscard]] PartialStates partial_states_in(std::byte* memory, const Plan& plan) noexcept;

// Queries of a sequence that are cut the same way: into blocks of queries, or as one block whose
// keys are cut into splits.
struct QueryGroup {
  std::int64_t sequence = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  bool by_keys = false;
  std::int64_t blocks = 0;  // of queries
  KeySplits splits = {};    // if by_keys
  std::int64_t heads = 1;   // kv heads per unit
  std::int64_t parts = 0;   // units for all kv heads of a block or split; 0 without queries
  BlockShape shape = {};    // of the first block
  std::int64_t partial_rows = 0;

  [[nodiscard]] std::int64_t partial_blocks() const noexcept {
    return partial_rows == 0 ? 0 : parts;
  }
  [[nodiscard]] std::int64_t units() const noexcept {
    return bounded_product(by_keys ? splits.count() : blocks, parts);
  }
};

// Finds the block of unit `index`; indices must grow from call to call.
class UnitCursor {
 public:
  explicit UnitCursor(const Plan& plan);
  [[nodiscard]] QueryBlock at(std::int64_t index);

 private:
  const Plan& plan_;
  QueryGroup group_;
  std::int64_t first_ = 0;  // index of the first unit of group_
  std::int64_t first_partial_row_ = 0;
  std::int64_t first_partial_block_ = 0;
};

}  // namespace rotary
