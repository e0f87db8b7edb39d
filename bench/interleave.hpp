// SPDX-License-Identifier: Apache-2.0
// Times several contenders in alternation, every other round from the last to the first (ABBA), so
// that drift favours no contender. Each round takes a sample of each contender, and the
// minimum for each counts: on a shared machine a disturbance makes a sample slower, never faster,
// and a disturbance that lasts affects all contenders.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

// thread_cpu: processor time of the calling thread, without its waiting for a busy core; for one
// thread.
enum class Clock { steady, thread_cpu };

[[nodiscard]] std::string_view to_string(Clock clock) noexcept;

// The clock for work on this many threads.
[[nodiscard]] Clock clock_of(std::int64_t threads) noexcept;

// Does its work `calls` times in a row.
using Contender = std::function<Status(std::int64_t calls)>;

struct Budget {
  double seconds = 0.25;  // of all rounds together; seven rounds are made in any case
  Clock clock = Clock::steady;
  std::function<void(double)> on_progress = {};  // the fraction done since the last call
};

struct Timing {
  std::vector<double> ns_per_call;  // minima, one for each contender
  std::int64_t rounds = 0;
  double spread = 1;  // the median of a contender's rounds by their minimum, the largest of all
};

// Before each sample a contender runs once untimed, unless a call takes at least 20 ms: such a call
// finds its own data in the caches. A contender whose call takes at least 2 s takes part in three
// rounds only. The first error ends all.
[[nodiscard]] Result<Timing> interleave(std::span<const Contender> contenders,
                                        const Budget& budget);

}  // namespace rotary::bench
