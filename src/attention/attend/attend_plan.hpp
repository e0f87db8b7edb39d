// SPDX-License-Identifier: Apache-2.0
// Cuts a call of attend() into units of work by its sizes alone: sequences of many queries into
// blocks of queries, sequences of few queries into splits of their keys. Only the number of kv
// heads per unit depends on the executor, and no bit of the result depends on that number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/key_splits.hpp"
#include "attention/attend/query_block.hpp"

namespace rotary {

// With no units there are no workers, and `sizes` means nothing.
struct Plan {
  std::int64_t units = 0;
  std::int64_t workers = 0;        // each has its own memory; at least 1 if there are units
  std::int64_t heads_of_unit = 1;  // kv heads per unit where keys are streamed
  std::int64_t partial_rows = 0;   // rows of PartialStates
  std::int64_t partial_blocks = 0;
  ScratchSizes sizes;
  std::size_t shared_bytes = 0;  // Shaw's vectors, read by all workers; they come first in memory

  [[nodiscard]] std::size_t scratch_bytes_of_all() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;  // total
};

[[nodiscard]] Plan plan_of(const Attending& attending) noexcept;

// memory: all of plan.bytes(). Marks no split as finished.
[[nodiscard]] PartialStates partial_states_in(std::byte* memory, const Plan& plan) noexcept;

// Queries of a sequence that are cut the same way: all of them into blocks of queries, or one block
// of them into splits of its keys.
struct QueryGroup {
  std::int64_t sequence = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  bool by_keys = false;
  KeySplits splits = {};  // if by_keys
};

// Finds the block of unit `index`; indices must grow from call to call.
class UnitCursor {
 public:
  UnitCursor(const AttendCall& call, const Plan& plan);
  [[nodiscard]] QueryBlock at(std::int64_t index);

 private:
  const AttendCall& call_;
  const Plan& plan_;
  QueryGroup group_;
  std::int64_t first_ = 0;  // index of the first unit of group_
  std::int64_t first_partial_row_ = 0;
  std::int64_t first_partial_block_ = 0;
};

}  // namespace rotary
