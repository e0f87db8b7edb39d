// SPDX-License-Identifier: Apache-2.0
// Speed goals of this project: a ratio to the roofline of the same run, or a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "bench/line.hpp"

namespace rotary::bench {

// Sizes in bytes; 0 if unknown.
struct Caches {
  std::int64_t l1d = 0;  // of one core
  std::int64_t l2 = 0;   // of one core
  std::int64_t l3 = 0;   // shared
};

// The first memory level that is large enough for a line's working set.
enum class MemoryLevel { l1 = 1, l2 = 2, l3 = 3, dram = 4 };

[[nodiscard]] std::string_view to_string(MemoryLevel level) noexcept;

// Compares L1 and L2 with one thread's share of the working set.
[[nodiscard]] MemoryLevel memory_level(const Line& line, const Caches& caches);

enum class GoalUnit { ratio, ns_per_token };

struct Goal {
  double at_most = 0;
  GoalUnit unit = GoalUnit::ratio;
};

// Absent if the line has no goal.
[[nodiscard]] std::optional<Goal> goal_of(const Line& line, MemoryLevel level);

}  // namespace rotary::bench
