// SPDX-License-Identifier: Apache-2.0
// The unit of work of attend(): some queries of one sequence with all query heads of one kv head
// and every key they see, or few queries with several kv heads and one split of the keys. Cannot
// fail and allocates nothing; its bits depend on nothing outside the block.
#pragma once

#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/bias/bias_tables.hpp"
#include "attention/attend/bias/score_bias.hpp"
#include "attention/attend/bias/shaw_vectors.hpp"
#include "kernels/kernels.hpp"

namespace rotary {

// States of blocks that cover one split of their keys, kept until the splits are merged.
struct PartialStates {
  kernels::SoftmaxState states = {};
  std::int32_t* finished = nullptr;  // finished splits per block, counted atomically
};

// Shared by all blocks of a call.
struct Attending {
  const AttendCall& call;
  const kernels::KernelTable& kernels;
  const ScoreBias* bias = nullptr;  // null: none
  ShawOfCall shaw = {};             // already packed
  PartialStates partial = {};
};

struct QueryBlock {
  std::int64_t sequence = 0;
  std::int64_t first_query = 0;  // within the sequence
  std::int64_t first_kv_head = 0;
  std::int64_t kv_heads = 1;
  BlockShape shape;        // per kv head
  KeyRun keys;             // limits the keys that the queries see
  std::int64_t split = 0;  // index of these keys among `splits`
  std::int64_t splits = 1;
  std::int64_t first_partial_row = 0;  // [splits][kv_heads][rows]; if splits > 1
  std::int64_t partial_block = 0;

  [[nodiscard]] std::int64_t rows() const noexcept { return kv_heads * shape.rows(); }
};

// Queries per block of a sequence; its last block may have fewer.
[[nodiscard]] std::int64_t queries_of_block(const AttendCall& call) noexcept;

// The path of a block with this many queries.
[[nodiscard]] KeyPath key_path(const AttendCall& call, std::int64_t queries) noexcept;

// tables: of the worker's scratch memory.
void attend_block(const Attending& attending, const QueryBlock& block, const Scratch& scratch,
                  BiasTables& tables);

}  // namespace rotary
