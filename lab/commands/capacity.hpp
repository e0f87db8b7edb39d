// SPDX-License-Identifier: Apache-2.0
// This machine's capacity, and whether a run fits.
#pragma once

#include "lab/commands/prepare_run.hpp"

namespace rotary::lab {

struct Capacity {
  int processors = 1;
  double memory_bytes = 0;
};

[[nodiscard]] Capacity this_capacity();

// Fails with an estimate if the run would take all processors more than a day, or if a cell needs
// more memory than this machine has. Skips the timing of clearly small runs. Accepts every run on a
// GPU, because a GPU's capacity is unknown here.
void check_capacity(const PreparedRun& run, const RunArguments& arguments);

}  // namespace rotary::lab
