// SPDX-License-Identifier: Apache-2.0
// Numbers for tokens, such as positions, slots or table rows, decoded from an input. Arrays are in
// the case's buffer, where views may overlap them.
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

// batch: how many rows of numbers there are. A batch of 1 serves every batch row.
struct NumberCounts {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
};

struct NumbersCase {
  NumberKind kind = NumberKind::consecutive;
  NumberCounts counts = {};
  std::int64_t first = 0;  // the first number, if consecutive
  std::byte* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 1;
};

// counts: the counts that the call needs. Rarely, the result has different counts.
[[nodiscard]] std::optional<NumbersCase> decode_numbers(Bytes& input, Places& places,
                                                        NumberKind kind,
                                                        const NumberCounts& counts);

// The array as a view. Consecutive numbers give a view without elements.
[[nodiscard]] Strided strided(const NumbersCase& numbers);

// Writes values[b * tokens + t] to each element. An element that tokens share by a stride of 0 gets
// one value. Writes nothing if the array is not well-formed.
void write_numbers(const NumbersCase& numbers, const std::vector<long double>& values);

// Requires a well-formed array.
[[nodiscard]] long double number_at(const NumbersCase& numbers, std::int64_t batch,
                                    std::int64_t token);

[[nodiscard]] Positions positions_of(const NumbersCase& numbers);
[[nodiscard]] Slots slots_of(const NumbersCase& numbers);  // for a kind other than f64

// True if the numbers are valid positions: batch at least 1, tokens at least 0, numbers within
// int64. The array must be well-formed. Several batch rows need a batch stride.
[[nodiscard]] bool are_positions(const NumbersCase& numbers);

}  // namespace rotary::fuzz
