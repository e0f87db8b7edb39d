// SPDX-License-Identifier: Apache-2.0
#include "bench/interleave.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <utility>

namespace rotary::bench {
namespace {

constexpr std::int64_t fewest_rounds = 7;

// Of one sample: reading the thread's clock, some 300 ns, is then less than half a percent.
constexpr double shortest_sample_ns = 1e5;

// Even of what takes no time.
constexpr std::int64_t most_calls = std::int64_t{1} << 20;

double now_ns(Clock clock) {
  if (clock == Clock::steady) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::nano>(now).count();
  }
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// Nanoseconds of so many calls.
Result<double> sample(const Contender& contender, std::int64_t calls, Clock clock) {
  const double start = now_ns(clock);
  if (auto status = contender(calls); !status) return std::move(status).error();
  return now_ns(clock) - start;
}

// How many calls make a sample.
Result<std::int64_t> calls_in_sample(const Contender& contender, Clock clock) {
  std::int64_t calls = 1;
  while (true) {
    const auto ns = sample(contender, calls, clock);
    if (!ns) return ns.error();
    if (*ns >= shortest_sample_ns || calls >= most_calls) return calls;
    calls *= 2;
  }
}

}  // namespace

std::string_view to_string(Clock clock) noexcept {
  return clock == Clock::steady ? "steady" : "thread_cpu";
}

Result<Timing> interleave(std::span<const Contender> contenders, const Budget& budget) {
  std::vector<std::int64_t> calls;
  for (const Contender& contender : contenders) {
    const auto count = calls_in_sample(contender, budget.clock);
    if (!count) return count.error();
    calls.push_back(*count);
  }
  constexpr double never = std::numeric_limits<double>::infinity();
  Timing timing{.ns_per_call = std::vector<double>(contenders.size(), never), .rounds = 0};
  const double end = now_ns(Clock::steady) + 1e9 * budget.seconds;
  while (timing.rounds < fewest_rounds || now_ns(Clock::steady) < end) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (auto status = contenders[i](1); !status) return std::move(status).error();
      const auto ns = sample(contenders[i], calls[i], budget.clock);
      if (!ns) return ns.error();
      timing.ns_per_call[i] = std::min(timing.ns_per_call[i], *ns / static_cast<double>(calls[i]));
    }
    ++timing.rounds;
  }
  return timing;
}

}  // namespace rotary::bench
