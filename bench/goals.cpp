// SPDX-License-Identifier: Apache-2.0
#include "bench/goals.hpp"

#include <array>

namespace rotary::bench {
namespace {

enum class Elements { any, f32, bf16, bits16 };

enum class Step {
  any,
  decode,   // one token by one thread, 128 features per head, all rotated
  prefill,  // 16 tokens or more, by one or two threads
  chunk,    // 512 tokens or more
};

// The goal for lines that match every member. The first matching row counts.
struct GoalRow {
  Family family;
  Elements elements = Elements::any;
  Step step = Step::any;
  MemoryLevel first_level = MemoryLevel::l1;
  MemoryLevel last_level = MemoryLevel::dram;
  std::optional<RowsAre> rows = {};  // absent: either
  Goal goal;
};

constexpr std::array<GoalRow, 16> goals = {{
    // In L1, with rows made before or in the call.
    {.family = Family::in_place,
     .elements = Elements::f32,
     .step = Step::decode,
     .last_level = MemoryLevel::l1,
     .rows = RowsAre::made_before,
     .goal = {1.3}},
    {.family = Family::in_place,
     .elements = Elements::f32,
     .step = Step::decode,
     .last_level = MemoryLevel::l1,
     .rows = RowsAre::made_in_call,
     .goal = {1.8}},
    {.family = Family::in_place,
     .elements = Elements::bf16,
     .step = Step::decode,
     .last_level = MemoryLevel::l1,
     .rows = RowsAre::made_before,
     .goal = {5.5}},
    {.family = Family::in_place,
     .elements = Elements::bf16,
     .step = Step::decode,
     .last_level = MemoryLevel::l1,
     .rows = RowsAre::made_in_call,
     .goal = {6.5}},
    // In place, including the making of rows.
    {.family = Family::in_place,
     .elements = Elements::f32,
     .step = Step::prefill,
     .rows = RowsAre::made_in_call,
     .goal = {1.08}},
    {.family = Family::in_place,
     .elements = Elements::bits16,
     .step = Step::prefill,
     .last_level = MemoryLevel::l2,
     .rows = RowsAre::made_in_call,
     .goal = {1.9}},
    {.family = Family::in_place,
     .elements = Elements::bits16,
     .step = Step::prefill,
     .first_level = MemoryLevel::l3,
     .last_level = MemoryLevel::l3,
     .rows = RowsAre::made_in_call,
     .goal = {1.15}},
    {.family = Family::in_place,
     .elements = Elements::bits16,
     .step = Step::prefill,
     .first_level = MemoryLevel::dram,
     .rows = RowsAre::made_in_call,
     .goal = {1.25}},
    // Out of place, in L3 or beyond.
    {.family = Family::out_of_place,
     .first_level = MemoryLevel::l3,
     .last_level = MemoryLevel::l3,
     .goal = {0.8}},
    {.family = Family::out_of_place, .first_level = MemoryLevel::dram, .goal = {1.15}},
    // Into a KV cache, compared with a plain copy.
    {.family = Family::append, .elements = Elements::f32, .step = Step::chunk, .goal = {1.12}},
    {.family = Family::append, .elements = Elements::bf16, .step = Step::chunk, .goal = {1.28}},
    // Shifting cached keys, in L3 or beyond.
    {.family = Family::shift,
     .elements = Elements::f32,
     .first_level = MemoryLevel::l3,
     .goal = {1.05}},
    {.family = Family::shift,
     .elements = Elements::bf16,
     .first_level = MemoryLevel::l3,
     .goal = {1.25}},
    // Patches of an image, including the making of rows.
    {.family = Family::patches, .step = Step::chunk, .goal = {1.15}},
    // Making rows of 64 pairs.
    {.family = Family::rows, .goal = {70, GoalUnit::ns_per_token}},
}};

bool fits(Elements elements, DType dtype) {
  switch (elements) {
    case Elements::any:
      return true;
    case Elements::f32:
      return dtype == DType::f32;
    case Elements::bf16:
      return dtype == DType::bf16;
    case Elements::bits16:
      return size_in_bytes(dtype) == 2;
  }
  return false;
}

bool fits(Step step, const Line& line) {
  const Operation& operation = *line.operation;
  const bool usual_heads = operation.shape.head_dim == 128 && operation.shape.rotary_dim == 128;
  switch (step) {
    case Step::any:
      return true;
    case Step::decode:
      return line.tokens == 1 && line.threads == 1 && usual_heads &&
             operation.direction == Direction::forward;
    case Step::prefill:
      return line.tokens >= 16 && line.threads <= 2;
    case Step::chunk:
      return line.tokens >= 512;
  }
  return false;
}

bool fits(const GoalRow& row, const Line& line, MemoryLevel level) {
  return row.family == line.operation->family && fits(row.elements, line.dtype) &&
         fits(row.step, line) && row.first_level <= level && level <= row.last_level &&
         (!row.rows || *row.rows == line.operation->rows);
}

}  // namespace

std::string_view to_string(MemoryLevel level) noexcept {
  switch (level) {
    case MemoryLevel::l1:
      return "L1";
    case MemoryLevel::l2:
      return "L2";
    case MemoryLevel::l3:
      return "L3";
    case MemoryLevel::dram:
      return "DRAM";
  }
  return "unknown";
}

MemoryLevel memory_level(const Line& line, const Caches& caches) {
  const std::int64_t bytes = working_set_bytes(line);
  if (bytes <= caches.l1d * line.threads) return MemoryLevel::l1;
  if (bytes <= caches.l2 * line.threads) return MemoryLevel::l2;
  if (bytes <= caches.l3) return MemoryLevel::l3;
  return MemoryLevel::dram;
}

std::optional<Goal> goal_of(const Line& line, MemoryLevel level) {
  for (const GoalRow& row : goals) {
    if (fits(row, line, level)) return row.goal;
  }
  return std::nullopt;
}

}  // namespace rotary::bench
