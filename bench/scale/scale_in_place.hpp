// SPDX-License-Identifier: Apache-2.0
// The roofline: the least cost of an in-place operation on these bytes.
#pragma once

#include <cstddef>

namespace rotary::bench {

// Multiplies count floats in place with this machine's best instruction set.
void scale_in_place(float* data, std::size_t count, float factor);

// Pieces of adjacent floats at equal distances, such as a part of the features of each head.
struct FloatRuns {
  float* data = nullptr;
  std::size_t runs = 0;
  std::size_t floats = 0;  // in each piece
  std::size_t stride = 0;  // floats from the start of one piece to the next
};

// As above, for each piece.
void scale_runs_in_place(const FloatRuns& values, float factor);

}  // namespace rotary::bench
