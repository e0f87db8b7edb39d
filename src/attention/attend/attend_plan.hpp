// SPDX-License-Identifier: Apache-2.0
// How a call of attend() is cut into units of work, by its sizes alone: sequences of many queries
// into blocks of queries, those of few into splits of their keys. Only how many kv heads go
// together depends on the executor, and no bit depends on that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/key_splits.hpp"
#include "attention/attend/query_block.hpp"

namespace rotary {

// Without a unit there is no worker, and sizes say nothing.
struct Plan {
  std::int64_t units = 0;
  std::int64_t workers = 0;        // each with memory of its own; of units, at least one
  std::int64_t heads_of_unit = 1;  // kv heads, where keys are streamed
  std::int64_t partial_rows = 0;   // of PartialStates
  std::int64_t partial_blocks = 0;
  ScratchSizes sizes;
  std::size_t shared_bytes = 0;  // what all workers read, before their memory: Shaw's vectors

  [[nodiscard]] std::size_t scratch_bytes_of_all() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;  // in all
};

[[nodiscard]] Plan plan_of(const Attending& attending) noexcept;

// memory: all of the plan. Nothing has been finished yet.
[[nodiscard]] PartialStates partial_states_in(std::byte* memory, const Plan& plan) noexcept;

// Queries of a sequence that are cut alike: all of them by queries, or a block of them by keys.
struct QueryGroup {
  std::int64_t sequence = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  bool by_keys = false;
  KeySplits splits = {};  // where by_keys
};

// Unit `index` of all, for indices that grow from call to call.
class UnitCursor {
 public:
  UnitCursor(const AttendCall& call, const Plan& plan);
  [[nodiscard]] QueryBlock at(std::int64_t index);

 private:
  const AttendCall& call_;
  const Plan& plan_;
  QueryGroup group_;
  std::int64_t first_ = 0;  // index of its first unit
  std::int64_t first_partial_row_ = 0;
  std::int64_t first_partial_block_ = 0;
};

}  // namespace rotary
