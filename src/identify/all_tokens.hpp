// SPDX-License-Identifier: Apache-2.0
// Finds the positions of a dump's tokens, given an operation that explains the sample.
#pragma once

#include <cstdint>
#include <optional>

#include "identify/operation.hpp"
#include "identify/sample.hpp"
#include "rotary/identify.hpp"

namespace rotary::identification {

// The found minus the expected position, rounded, of the first token that is not all zeros.
[[nodiscard]] double first_position_of(const Turning& turning, const Sample& sample);

// The positions of all tokens of a sample, found with the Turning of a readable operation. Empty if
// some token has no position that explains it.
[[nodiscard]] std::optional<std::vector<double>> positions_of_sample(const Turning& turning,
                                                                     const Sample& sample);

// The input of positions_of_all(), apart from the dump.
struct Reading {
  const Operation& operation;  // must be readable, except for its position offset and factor
  const Turning& turning;
  // A rotation in `before`, which is undone first; null: none.
  const Turning* undone = nullptr;
  // The position of the first token of each row, if the caller gave no positions.
  double first_position = 0;
  DType dtype = DType::f32;
};

// Reads at most `most_read` tokens: whole rows, or the beginning of the first row.
inline constexpr std::int64_t most_read = std::int64_t{1} << 20;
[[nodiscard]] ReadPositions positions_of_all(const Dump& dump, const Reading& reading);

}  // namespace rotary::identification
