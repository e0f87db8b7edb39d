// SPDX-License-Identifier: Apache-2.0
// A caller's pool that runs tasks in an unusual order: last index first, each once.
#pragma once

#include <cstdint>

#include "fuzz/check.hpp"
#include "rotary/executor.hpp"

namespace rotary::fuzz {

class Backwards {
 public:
  // Allows a call to cut its work at most most_calls times, into at most concurrency tasks.
  explicit Backwards(std::int64_t concurrency = 3, std::int64_t most_calls = 1) noexcept
      : concurrency_(concurrency), most_calls_(most_calls) {}

  // Valid while this object lives and does not move.
  [[nodiscard]] Executor executor() noexcept {
    return {.context = this,
            .run =
                [](void* context, std::int64_t count, ExecutorTask task, void* state) {
                  auto& self = *static_cast<Backwards*>(context);
                  if (++self.calls_ > self.most_calls_) {
                    fail("an executor must not be called so often");
                  }
                  if (count > self.concurrency_) fail("a call must not be cut into more tasks");
                  for (std::int64_t i = count; i > 0; --i) task(state, i - 1);
                },
            .concurrency = concurrency_};
  }
  [[nodiscard]] std::int64_t calls() const noexcept { return calls_; }

 private:
  std::int64_t concurrency_;
  std::int64_t most_calls_;
  std::int64_t calls_ = 0;
};

}  // namespace rotary::fuzz
