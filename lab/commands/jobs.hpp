// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rotary::lab {

// 128 + SIGINT, the exit code that a shell gives.
inline constexpr int interrupted_exit_code = 130;

struct Jobs {
  std::int64_t cells = 0;
  int jobs = 1;     // processes
  int at_once = 1;  // cells that they work on
};

// Runs this command line in several processes, which share the cells, and shows their progress.
// Returns the exit code of the first that failed. A process that a signal ended does not matter if
// another one finished the cells.
[[nodiscard]] int run_jobs(const Jobs& jobs);

}  // namespace rotary::lab
