// SPDX-License-Identifier: Apache-2.0
// Rooflines of attention: the multiplications and additions that one core can do, and the speed at
// which it reads keys and values. Both on the best instruction set of this machine, from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rotary::bench {

// Does `steps` steps of float32 multiply-adds in registers, in ten independent chains of full
// vectors, more than any latency needs. Returns the number of operations, two for each
// multiply-add.
double multiply_and_add(std::int64_t steps);

// Reads count bytes once, in order, and does next to nothing with them.
void read_bytes(const std::byte* data, std::size_t count);

}  // namespace rotary::bench
