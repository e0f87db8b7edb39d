// SPDX-License-Identifier: Apache-2.0
// The capacity of this machine, and whether a run fits into it.
#pragma once

#include "lab/commands/prepare_run.hpp"

namespace rotary::lab {

struct Capacity {
  int processors = 1;
  double memory_bytes = 0;
};

[[nodiscard]] Capacity this_capacity();

// Fails, with an estimate, if all processors would work for more than a day, or if a cell needs
// more than the memory. A clearly small run is not timed for this. A GPU's capacity is unknown
// here, so a run on one is never refused.
void check_capacity(const PreparedRun& run, const RunArguments& arguments);

}  // namespace rotary::lab
