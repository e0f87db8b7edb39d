// SPDX-License-Identifier: Apache-2.0
// Numbers that tokens have, positions, slots, rows of a table, decoded from an input. Arrays lie in
// the buffer of the case, where views may overlap them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/positions.hpp"

namespace rotary::fuzz {

enum class NumberKind { consecutive, int32, int64, f64 };

// A row of numbers for each batch row, or one for all.
struct NumberCounts {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
};

struct NumbersCase {
  NumberKind kind = NumberKind::consecutive;
  NumberCounts counts = {};
  std::int64_t first = 0;  // of consecutive ones
  std::byte* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 1;
};

// counts: what the call needs, or seldom others.
[[nodiscard]] std::optional<NumbersCase> decode_numbers(Bytes& input, Places& places,
                                                        NumberKind kind,
                                                        const NumberCounts& counts);

// The array, to be looked at as any view; no element where the numbers are consecutive.
[[nodiscard]] Strided strided(const NumbersCase& numbers);

// values[b * tokens + t], each once for tokens that a stride of 0 gives one element. Writes nothing
// to an array that is not well-formed.
void write_numbers(const NumbersCase& numbers, const std::vector<long double>& values);

// As the array has it now; requires one that is well-formed.
[[nodiscard]] long double number_at(const NumbersCase& numbers, std::int64_t batch,
                                    std::int64_t token);

[[nodiscard]] Positions positions_of(const NumbersCase& numbers);
[[nodiscard]] Slots slots_of(const NumbersCase& numbers);  // of a kind other than f64

// Whether they are positions: those of batch 1 or more and 0 or more tokens within int64, an array
// well-formed with a stride where it has several batch rows.
[[nodiscard]] bool are_positions(const NumbersCase& numbers);

}  // namespace rotary::fuzz
