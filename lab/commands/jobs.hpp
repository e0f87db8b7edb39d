// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/commands/commands.hpp"

namespace rotary::lab {

// 128 + SIGINT, the exit code that a shell gives.
inline constexpr int interrupted_exit_code = 130;

// Runs this command line in several processes, which share the cells, and ends with them: a signal
// that stops this one stops them, too. Returns the exit code of the first that failed. A process
// that a signal ended does not matter if another one finished the cells.
[[nodiscard]] int run_jobs(const RunArguments& arguments);

}  // namespace rotary::lab
