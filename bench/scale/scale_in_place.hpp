// SPDX-License-Identifier: Apache-2.0
// The roofline: what any in-place operation on these bytes costs at least.
#pragma once

#include <cstddef>

namespace rotary::bench {

// Multiplies count floats in place, on the best instruction set of this machine.
void scale_in_place(float* data, std::size_t count, float factor);

}  // namespace rotary::bench
