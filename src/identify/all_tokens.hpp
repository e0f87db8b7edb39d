// SPDX-License-Identifier: Apache-2.0
// Every token of a dump beside an operation that explains the sample: where it stands.
#pragma once

#include <cstdint>
#include <optional>

#include "identify/operation.hpp"
#include "identify/sample.hpp"
#include "rotary/identify.hpp"

namespace rotary::identification {

// The position of the sample's first token that holds something, less its own index.
[[nodiscard]] double first_position_of(const Turning& turning, const Sample& sample);

// The positions of all tokens of a sample, read with a readable operation; absent where a token
// stands at none.
[[nodiscard]] std::optional<std::vector<double>> positions_of_sample(const Turning& turning,
                                                                     const Sample& sample);

// An operation, and what else all tokens of the sample have in common.
struct Reading {
  const Operation& operation;  // readable but for an offset and a factor of positions
  const Turning& turning;
  // A rotation that `before` already has.
  const Turning* undone = nullptr;
  // Where the positions are not given: that of the first token of each row.
  double first_position = 0;
  DType dtype = DType::f32;
};

// Tokens beyond the first `most_read` are not read.
inline constexpr std::int64_t most_read = std::int64_t{1} << 20;
[[nodiscard]] ReadPositions positions_of_all(const Dump& dump, const Reading& reading);

}  // namespace rotary::identification
