// SPDX-License-Identifier: Apache-2.0
// Scales floats in place: the least cost of an in-place operation on the same bytes.
#pragma once

#include <cstddef>

namespace rotary::bench {

// Multiplies count floats in place with this machine's best instruction set.
void scale_in_place(float* data, std::size_t count, float factor);

// Runs of adjacent floats at equal distances, such as the rotated features of each head.
struct FloatRuns {
  float* data = nullptr;
  std::size_t runs = 0;
  std::size_t floats = 0;  // in each run
  std::size_t stride = 0;  // floats from the start of one run to the next
};

// Multiplies the floats of each run.
void scale_runs_in_place(const FloatRuns& values, float factor);

}  // namespace rotary::bench
