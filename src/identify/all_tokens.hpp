// SPDX-License-Identifier: Apache-2.0
// Finds the position of every token of a dump, given an operation that explains the sample.
#pragma once

#include <cstdint>
#include <optional>

#include "identify/operation.hpp"
#include "identify/sample.hpp"
#include "rotary/identify.hpp"

namespace rotary::identification {

// The position found for the sample's first token that is not all zeros, minus the expected one.
[[nodiscard]] double first_position_of(const Turning& turning, const Sample& sample);

// The positions of all tokens of a sample, found with the Turning of a readable operation. Empty if
// some token has no position that explains it.
[[nodiscard]] std::optional<std::vector<double>> positions_of_sample(const Turning& turning,
                                                                     const Sample& sample);

// An operation, and the values that all tokens of the sample share.
struct Reading {
  const Operation& operation;  // is_readable() apart from its position offset and factor
  const Turning& turning;
  // A rotation in `before`, which is undone first; null: none.
  const Turning* undone = nullptr;
  // The position of the first token of each row, if the caller gave no positions.
  double first_position = 0;
  DType dtype = DType::f32;
};

// Tokens beyond the first `most_read` are not read.
inline constexpr std::int64_t most_read = std::int64_t{1} << 20;
[[nodiscard]] ReadPositions positions_of_all(const Dump& dump, const Reading& reading);

}  // namespace rotary::identification
