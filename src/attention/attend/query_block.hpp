// SPDX-License-Identifier: Apache-2.0
// The unit of work of attend(): some queries of one sequence, all query heads of one kv head and
// every key that they see; or few queries, several kv heads and one split of the keys. Cannot fail,
// allocates nothing; its bits depend on nothing outside the block.
#pragma once

#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/bias/bias_tables.hpp"
#include "attention/attend/bias/score_bias.hpp"
#include "attention/attend/bias/shaw_vectors.hpp"
#include "kernels/kernels.hpp"

namespace rotary {

// Where blocks that are one split of their keys leave what they have.
struct PartialStates {
  kernels::SoftmaxState states = {};
  std::int32_t* finished = nullptr;  // splits of each block that are done, counted atomically
};

// What all blocks of a call share.
struct Attending {
  const AttendCall& call;
  const kernels::KernelTable& kernels;
  const ScoreBias* bias = nullptr;  // null: none
  ShawOfCall shaw = {};             // packed
  PartialStates partial = {};
};

struct QueryBlock {
  std::int64_t sequence = 0;
  std::int64_t first_query = 0;  // of the sequence
  std::int64_t first_kv_head = 0;
  std::int64_t kv_heads = 1;
  BlockShape shape;        // of each kv head
  KeyRun keys;             // of those that the queries see, these
  std::int64_t split = 0;  // which one of `splits` the keys are
  std::int64_t splits = 1;
  std::int64_t first_partial_row = 0;  // [splits][kv_heads][rows]; where splits > 1
  std::int64_t partial_block = 0;

  [[nodiscard]] std::int64_t rows() const noexcept { return kv_heads * shape.rows(); }
};

// How a sequence of so many queries is cut into blocks: queries of each but the last.
[[nodiscard]] std::int64_t queries_of_block(const AttendCall& call) noexcept;

// The path of a block of so many queries.
[[nodiscard]] KeyPath key_path(const AttendCall& call, std::int64_t queries) noexcept;

// tables: of the worker's scratch memory.
void attend_block(const Attending& attending, const QueryBlock& block, const Scratch& scratch,
                  BiasTables& tables);

}  // namespace rotary
