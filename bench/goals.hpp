// SPDX-License-Identifier: Apache-2.0
// This project's goals for its own speed, as ratios to the roofline of the same run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bench/line.hpp"

namespace rotary::bench {

// Bytes; 0 where the system does not say.
struct Caches {
  std::int64_t l1d = 0;  // of one core
  std::int64_t l2 = 0;   // of one core
  std::int64_t l3 = 0;   // shared
};

// The memory level that holds a line's working set: the first level that is large enough.
enum class MemoryLevel { l1 = 1, l2 = 2, l3 = 3, dram = 4 };

// "L1", "L2", "L3", "DRAM".
[[nodiscard]] std::string_view to_string(MemoryLevel level) noexcept;

// For L1 and L2 it compares a thread's share of the working set.
[[nodiscard]] MemoryLevel memory_level(const Line& line, const Caches& caches);

enum class GoalUnit { ratio, ns_per_token };

struct Goal {
  double at_most = 0;
  GoalUnit unit = GoalUnit::ratio;
};

// Absent if the line has no goal.
[[nodiscard]] std::optional<Goal> goal_of(const Line& line, MemoryLevel level);

}  // namespace rotary::bench
