// SPDX-License-Identifier: Apache-2.0
// The unit of work of attend(): some queries of one sequence, all query heads of one kv head, every
// key that they see. Cannot fail, allocates nothing; its bits depend on nothing outside the block.
#pragma once

#include <cstdint>

#include "attention/attend_call.hpp"
#include "attention/attend_scratch.hpp"
#include "attention/score_bias.hpp"
#include "kernels/kernels.hpp"

namespace rotary {

// What all blocks of a call share.
struct Attending {
  const AttendCall& call;
  const kernels::KernelTable& kernels;
  const ScoreBias* bias = nullptr;  // null: none
};

struct QueryBlock {
  std::int64_t sequence = 0;
  std::int64_t kv_head = 0;
  std::int64_t first_query = 0;  // of the sequence
  BlockShape shape;
};

// How a sequence of so many queries is cut into blocks: queries of each but the last.
[[nodiscard]] std::int64_t queries_of_block(const AttendCall& call) noexcept;

// The path of a block of so many queries.
[[nodiscard]] KeyPath key_path(const AttendCall& call, std::int64_t queries) noexcept;

// Floats that the tables of a bias take for the longest block of a sequence; 0 without one.
[[nodiscard]] std::int64_t bias_floats(const Attending& attending,
                                       const AttentionSequence& sequence) noexcept;

void attend_block(const Attending& attending, const QueryBlock& block, const Scratch& scratch);

}  // namespace rotary
