// SPDX-License-Identifier: Apache-2.0
// The roofline: what any in-place operation on these bytes costs at least.
#pragma once

#include <cstddef>

namespace rotary::bench {

// Multiplies count floats in place, on the best instruction set of this machine.
void scale_in_place(float* data, std::size_t count, float factor);

// Runs of floats at equal distances: a part of the features of each head.
struct FloatRuns {
  float* data = nullptr;
  std::size_t runs = 0;
  std::size_t floats = 0;  // in each run
  std::size_t stride = 0;  // floats from one run to the next
};

// The same for each of them.
void scale_runs_in_place(const FloatRuns& values, float factor);

}  // namespace rotary::bench
