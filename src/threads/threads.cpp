// SPDX-License-Identifier: Apache-2.0
#include "rotary/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "threads/pool.hpp"

namespace rotary {
namespace {

constexpr std::int64_t max_concurrency = 1024;

// On some systems hardware_concurrency() ignores the affinity mask that taskset and container
// managers set. sched_getaffinity fails if cpu_set_t cannot hold all processors.
std::int64_t usable_processors() noexcept {
  std::int64_t count = std::thread::hardware_concurrency();
#ifdef CPU_COUNT
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) count = CPU_COUNT(&mask);
#endif
  return std::clamp<std::int64_t>(count, 1, max_concurrency);
}

}  // namespace

Threads::Threads(std::unique_ptr<Pool> pool) noexcept : pool_(std::move(pool)) {}
Threads::Threads(Threads&& other) noexcept = default;
Threads& Threads::operator=(Threads&& other) noexcept = default;
Threads::~Threads() = default;

Result<Threads> Threads::start(std::int64_t concurrency) noexcept {
  return guarded<ModesOfTheCaller>([&]() -> Result<Threads> {
    if (concurrency < 0 || concurrency > max_concurrency) {
      return invalid_argument("concurrency must be in [0, ", max_concurrency, "], got ",
                              concurrency);
    }
    const std::int64_t wanted = concurrency == 0 ? usable_processors() : concurrency;
    auto pool = std::make_unique<Pool>();
    try {
      while (pool->concurrency() < wanted) pool->start_thread();
    } catch (const std::system_error&) {
      return Error{ErrorCode::out_of_memory,
                   message("the system must have ", wanted - 1, " more threads, got ",
                           pool->concurrency() - 1)};
    }
    return Threads(std::move(pool));
  });
}

Executor Threads::executor() const noexcept {
  if (pool_ == nullptr) return {};  // moved from
  return {.context = pool_.get(),
          .run = [](void* context, std::int64_t count, ExecutorTask task,
                    void* state) { static_cast<Pool*>(context)->run(count, task, state); },
          .concurrency = pool_->concurrency()};
}

}  // namespace rotary
