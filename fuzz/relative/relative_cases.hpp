// SPDX-License-Identifier: Apache-2.0
// Decodes and checks calls, with a function for each kind of relative encoding.
#pragma once

#include "fuzz/bytes.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

void fuzz_bias(Bytes& input, Buffers& buffers);     // fill_bias, fill_distances, bias_at, gradient
void fuzz_numbers(Bytes& input, Buffers& buffers);  // buckets, slopes, positions of padded rows
void fuzz_shaw(Bytes& input, Buffers& buffers);
void fuzz_cope(Bytes& input, Buffers& buffers);

}  // namespace rotary::fuzz
