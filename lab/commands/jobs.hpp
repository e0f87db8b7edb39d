// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rotary::lab {

// 128 + SIGINT, as a shell says it.
inline constexpr int interrupted_exit_code = 130;

struct Jobs {
  std::int64_t cells = 0;
  int jobs = 1;     // processes
  int at_once = 1;  // cells that they work on
};

// This command line once more in so many processes, which share the cells; shows what they do.
// Returns the exit code: that of the first that failed. Who was ended by a signal does not matter
// where another finished the cells.
[[nodiscard]] int run_jobs(const Jobs& jobs);

}  // namespace rotary::lab
