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

// The shortest sample. Reading the thread's clock takes about 300 ns, which is 0.3 % of this time.
constexpr double shortest_sample_ns = 1e5;

// A call that takes this long needs no untimed call before it.
constexpr double long_call_ns = 2e7;

// A call that takes this long gets at most three samples, because other contenders wait for it.
constexpr double endless_call_ns = 2e9;
constexpr std::int64_t most_samples_of_endless = 3;

// The most calls in a sample, even if a call takes no time.
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

// Nanoseconds for `calls` calls.
Result<double> sample(const Contender& contender, std::int64_t calls, Clock clock) {
  const double start = now_ns(clock);
  if (auto status = contender(calls); !status) return std::move(status).error();
  return now_ns(clock) - start;
}

struct Plan {
  std::int64_t calls = 1;
  std::int64_t untimed = 1;
  std::int64_t most_samples = std::numeric_limits<std::int64_t>::max();
};

Result<Plan> plan_of(const Contender& contender, Clock clock) {
  Plan plan;
  while (true) {
    const auto ns = sample(contender, plan.calls, clock);
    if (!ns) return ns.error();
    const double ns_per_call = *ns / static_cast<double>(plan.calls);
    if (ns_per_call >= long_call_ns) plan.untimed = 0;
    if (ns_per_call >= endless_call_ns) plan.most_samples = most_samples_of_endless;
    if (*ns >= shortest_sample_ns || plan.calls >= most_calls) return plan;
    plan.calls *= 2;
  }
}

// The progress over all rounds, from 0 to 1.
double share_done(std::int64_t rounds, double passed_ns, double seconds) {
  const double of_rounds = static_cast<double>(rounds) / static_cast<double>(fewest_rounds);
  return std::min({1.0, of_rounds, passed_ns / (1e9 * seconds)});
}

}  // namespace

std::string_view to_string(Clock clock) noexcept {
  return clock == Clock::steady ? "steady" : "thread_cpu";
}

Clock clock_of(std::int64_t threads) noexcept {
  return threads == 1 ? Clock::thread_cpu : Clock::steady;
}

Result<Timing> interleave(std::span<const Contender> contenders, const Budget& budget) {
  std::vector<Plan> plans;
  for (const Contender& contender : contenders) {
    const auto plan = plan_of(contender, budget.clock);
    if (!plan) return plan.error();
    plans.push_back(*plan);
  }
  constexpr double never = std::numeric_limits<double>::infinity();
  Timing timing{.ns_per_call = std::vector<double>(contenders.size(), never), .rounds = 0};
  std::vector<std::vector<double>> samples(contenders.size());
  const double start = now_ns(Clock::steady);
  double done = 0;
  while (timing.rounds < fewest_rounds || now_ns(Clock::steady) < start + 1e9 * budget.seconds) {
    const bool back = timing.rounds % 2 == 1;
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      const std::size_t i = back ? contenders.size() - 1 - turn : turn;
      const auto& [calls, untimed, most_samples] = plans[i];
      if (timing.rounds >= most_samples) continue;
      if (auto status = contenders[i](untimed); !status) return std::move(status).error();
      const auto ns = sample(contenders[i], calls, budget.clock);
      if (!ns) return ns.error();
      samples[i].push_back(*ns / static_cast<double>(calls));
      timing.ns_per_call[i] = std::min(timing.ns_per_call[i], samples[i].back());
    }
    ++timing.rounds;
    if (!budget.on_progress) continue;
    const double now = share_done(timing.rounds, now_ns(Clock::steady) - start, budget.seconds);
    budget.on_progress(now - std::exchange(done, now));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto middle = samples[i].begin() + static_cast<std::ptrdiff_t>(samples[i].size() / 2);
    std::ranges::nth_element(samples[i], middle);
    timing.spread = std::max(timing.spread, *middle / timing.ns_per_call[i]);
  }
  return timing;
}

}  // namespace rotary::bench
