// SPDX-License-Identifier: Apache-2.0
// The positions of tokens: any int64, negative ones included.
//
//   const std::vector<std::int32_t> packed = {0, 1, 2, 0, 1};
//   const auto rotations = make_rotations(frequencies, positions_of(packed));
#pragma once

#include <cstdint>
#include <ranges>
#include <variant>

#include "rotary/token_array.hpp"

namespace rotary {

// Token t of every batch row stands at first + t.
struct ConsecutivePositions {
  std::int64_t first = 0;
  std::int64_t tokens = 0;
};

// One position for each token: packed documents, padding, context-parallel slices. int32, int64, or
// double for positions between tokens (interpolated, continuous time), which are finite and within
// int64; a double that is an integer gives the bits of that integer. With frequencies of several
// axes each token has a coordinate on every axis, or one that serves all of them: text, whose rows
// are those of the same frequencies without axes.
using Positions = std::variant<ConsecutivePositions, TokenArray<std::int32_t>,
                               TokenArray<std::int64_t>, TokenArray<double>>;

// As token_array: [tokens], the same for every batch row, or contiguous [batch, tokens].
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& tokens) noexcept {
  return token_array(tokens);
}
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& positions, std::int64_t batch) noexcept {
  return token_array(positions, batch);
}
// Contiguous [axes, batch, tokens].
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& positions, std::int64_t batch,
                                std::int64_t axes) noexcept {
  return token_array(positions, batch, axes);
}

}  // namespace rotary
