// SPDX-License-Identifier: Apache-2.0
// Times several contenders alternately. Every other round has the reverse order (ABBA), so drift
// favours none. A round takes one sample of each contender. A contender's result is its fastest
// sample, because a disturbance can only slow. A lasting disturbance affects all contenders.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

// thread_cpu: processor time of the calling thread, for work on one thread.
enum class Clock { steady, thread_cpu };

[[nodiscard]] std::string_view to_string(Clock clock) noexcept;

[[nodiscard]] Clock clock_of(std::int64_t threads) noexcept;

// Does its work `calls` times in a row.
using Contender = std::function<Status(std::int64_t calls)>;

struct Budget {
  double seconds = 0.25;  // for all rounds together; there are at least seven
  Clock clock = Clock::steady;
  std::function<void(double)> on_progress = {};  // the fraction done since the last call
};

struct Timing {
  std::vector<double> ns_per_call;  // the shortest times, one for each contender
  std::int64_t rounds = 0;
  double spread = 1;  // largest ratio of median to minimum among the contenders
};

// Before each sample a contender runs once untimed, so that its data are in the caches. A call of
// at least 20 ms needs no untimed run. A contender whose call takes at least 2 s is sampled in
// three rounds only. The first error ends the timing.
[[nodiscard]] Result<Timing> interleave(std::span<const Contender> contenders,
                                        const Budget& budget);

}  // namespace rotary::bench
