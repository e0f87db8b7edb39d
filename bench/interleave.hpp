// SPDX-License-Identifier: Apache-2.0
// Times several things beside one another. Each round takes a sample of each of them, and the
// minimum of each counts: on a shared machine every disturbance makes a sample slower, never
// faster, and what the machine does in one minute it does to all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

// thread_cpu: what the calling thread ran, without its waiting for a busy core; for one thread.
enum class Clock { steady, thread_cpu };

[[nodiscard]] std::string_view to_string(Clock clock) noexcept;

// Does its work so many times in a row.
using Contender = std::function<Status(std::int64_t calls)>;

// there_and_back: every other round goes from the last to the first (ABBA), so that what drifts
// favours none.
enum class TurnOrder { same, there_and_back };

struct Budget {
  double seconds = 0.25;  // of all rounds together; seven rounds are made in any case
  Clock clock = Clock::steady;
  TurnOrder turns = TurnOrder::same;
  std::function<void(double)> on_progress = {};  // of 1, what was done since the last time
};

struct Timing {
  std::vector<double> ns_per_call;  // minima, one for each contender
  std::int64_t rounds = 0;
};

// Before each sample a contender runs once untimed, unless a call takes 20 ms and more: such a one
// finds in the caches what it put there itself. One that takes 2 s and more takes part in three
// rounds. The first error of one ends it all.
[[nodiscard]] Result<Timing> interleave(std::span<const Contender> contenders,
                                        const Budget& budget);

}  // namespace rotary::bench
