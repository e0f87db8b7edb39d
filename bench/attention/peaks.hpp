// SPDX-License-Identifier: Apache-2.0
// Rooflines of attention: one core's multiply-adds, and its speed of reading keys and values. Both
// functions use this machine's best instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rotary::bench {

// Does `steps` steps of float32 multiply-adds in registers. Ten independent chains of full vectors
// hide any latency. Returns the number of operations, two for each multiply-add.
double multiply_and_add(std::int64_t steps);

// Reads count bytes once, in order, and does almost nothing with them.
void read_bytes(const std::byte* data, std::size_t count);

}  // namespace rotary::bench
