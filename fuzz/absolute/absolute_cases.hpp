// SPDX-License-Identifier: Apache-2.0
// Decodes and checks calls, with a function for each kind of absolute encoding.
#pragma once

#include "fuzz/bytes.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

void fuzz_sinusoidal(Bytes& input, Buffers& buffers);     // make, fill, add, shift
void fuzz_lookup(Bytes& input, Buffers& buffers);         // add_learned, sum, gradient, mask
void fuzz_interpolation(Bytes& input, Buffers& buffers);  // of tables, and its gradient

}  // namespace rotary::fuzz
