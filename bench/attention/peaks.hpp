// SPDX-License-Identifier: Apache-2.0
// What attention stands beside: the multiplications and additions that one core can do, and how
// fast it can read keys and values. Both on the best instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rotary::bench {

// So many steps of float32 multiply-adds in registers, ten chains of full vectors beside one
// another: more than any latency needs. Returns the operations done, two for each multiply-add.
double multiply_and_add(std::int64_t steps);

// Reads count bytes once, in order, and does next to nothing with them.
void read_bytes(const std::byte* data, std::size_t count);

}  // namespace rotary::bench
