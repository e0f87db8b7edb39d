// SPDX-License-Identifier: Apache-2.0
#include "bench/goals.hpp"

#include <array>

namespace rotary::bench {
namespace {

enum class Elements { any, f32, bf16, bits16 };

enum class Step {
  any,
  decode,   // one token by one thread, 128 features per head, all rotated forward
  prefill,  // 16 tokens or more, by one or two threads
  chunk,    // 512 tokens or more
};

// The goal for lines that match every member. The first matching row counts.
struct GoalRow {
  Family family;
  Elements elements;
  Step step;
  MemoryLevel first_level;
  MemoryLevel last_level;
  std::optional<RowsAre> rows;  // absent: either
  Goal goal;
};

constexpr auto goals = [] {
  using enum Family;
  using enum MemoryLevel;
  using enum RowsAre;
  return std::array<GoalRow, 16>{{
      // In L1, with rows made before or in the call.
      {in_place, Elements::f32, Step::decode, l1, l1, made_before, {1.3}},
      {in_place, Elements::f32, Step::decode, l1, l1, made_in_call, {1.8}},
      {in_place, Elements::bf16, Step::decode, l1, l1, made_before, {5.5}},
      {in_place, Elements::bf16, Step::decode, l1, l1, made_in_call, {6.5}},
      // In place, including the making of rows.
      {in_place, Elements::f32, Step::prefill, l1, dram, made_in_call, {1.08}},
      {in_place, Elements::bits16, Step::prefill, l1, l2, made_in_call, {1.9}},
      {in_place, Elements::bits16, Step::prefill, l3, l3, made_in_call, {1.15}},
      {in_place, Elements::bits16, Step::prefill, dram, dram, made_in_call, {1.25}},
      // Out of place, in L3 or beyond.
      {out_of_place, Elements::any, Step::any, l3, l3, {}, {0.8}},
      {out_of_place, Elements::any, Step::any, dram, dram, {}, {1.15}},
      // Into a KV cache, compared with a plain copy.
      {append, Elements::f32, Step::chunk, l1, dram, {}, {1.12}},
      {append, Elements::bf16, Step::chunk, l1, dram, {}, {1.28}},
      // Shifting cached keys, in L3 or beyond.
      {shift, Elements::f32, Step::any, l3, dram, {}, {1.05}},
      {shift, Elements::bf16, Step::any, l3, dram, {}, {1.25}},
      // Patches of an image, including the making of rows.
      {patches, Elements::any, Step::chunk, l1, dram, {}, {1.15}},
      // Making rows of 64 pairs.
      {rows, Elements::any, Step::any, l1, dram, {}, {70, GoalUnit::ns_per_token}},
  }};
}();

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
