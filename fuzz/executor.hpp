// SPDX-License-Identifier: Apache-2.0
// The caller's pool, as unfriendly as it may be: last index first.
#pragma once

#include <cstdint>

#include "rotary/executor.hpp"

namespace rotary::fuzz {

class Backwards {
 public:
  // Valid as long as this lives, where it is.
  [[nodiscard]] Executor executor() {
    return {.context = this,
            .run =
                [](void* context, std::int64_t count, ExecutorTask task, void* state) {
                  ++static_cast<Backwards*>(context)->calls_;
                  for (std::int64_t i = count; i > 0; --i) task(state, i - 1);
                },
            .concurrency = 3};
  }
  [[nodiscard]] std::int64_t calls() const { return calls_; }

 private:
  std::int64_t calls_ = 0;
};

}  // namespace rotary::fuzz
