// SPDX-License-Identifier: Apache-2.0
// Reads single numbers of checked positions.
#pragma once

#include <cstdint>
#include <variant>

#include "rotary/positions.hpp"

namespace rotary {

[[nodiscard]] inline std::int64_t batch_of(const ConsecutivePositions&) noexcept { return 1; }

template <class Number>
[[nodiscard]] std::int64_t batch_of(const TokenArray<Number>& positions) noexcept {
  return positions.batch;
}

// A decode step stands at consecutive positions, and each visit costs it instructions.
[[nodiscard]] inline std::int64_t batch_of(const Positions& positions) noexcept {
  if (std::holds_alternative<ConsecutivePositions>(positions)) return 1;
  return std::visit([](const auto& each) { return batch_of(each); }, positions);
}

[[nodiscard]] inline std::int64_t tokens_of(const Positions& positions) noexcept {
  if (const auto* run = std::get_if<ConsecutivePositions>(&positions)) return run->tokens;
  return std::visit([](const auto& each) { return each.tokens; }, positions);
}

// The position of token t of batch row b. Requires b < batch_of(positions).
[[nodiscard]] inline std::int64_t number_at(const ConsecutivePositions& positions, std::int64_t,
                                            std::int64_t t) noexcept {
  return positions.first + t;
}

template <class Number>
[[nodiscard]] Number number_at(const TokenArray<Number>& positions, std::int64_t b,
                               std::int64_t t) noexcept {
  return positions.data[b * positions.batch_stride + t * positions.token_stride];
}

}  // namespace rotary
