// SPDX-License-Identifier: Apache-2.0
// The positions of tokens: any int64, negative ones included.
#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <variant>

namespace rotary {

// Token t of every batch row stands at first + t.
struct ConsecutivePositions {
  std::int64_t first = 0;
  std::int64_t tokens = 0;
};

// One position for each token: packed documents, padding, context-parallel slices. Not owned: data
// must live until the call that it is passed to returns. batch 1 serves every batch row of the
// tensors; more than 1 needs a batch_stride. Strides in elements. Number: int32, int64, or double
// for positions between tokens (interpolated, continuous time), which are finite and within int64;
// a double that is an integer gives the bits of that integer.
template <class Number>
struct PositionArray {
  const Number* data = nullptr;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 1;
};

using Positions = std::variant<ConsecutivePositions, PositionArray<std::int32_t>,
                               PositionArray<std::int64_t>, PositionArray<double>>;

// [tokens], the same for every batch row.
template <class Number>
[[nodiscard]] PositionArray<Number> positions_of(std::span<const Number> tokens) noexcept {
  return {.data = tokens.data(), .batch = 1, .tokens = static_cast<std::int64_t>(tokens.size())};
}

// Contiguous [batch, tokens]. If positions.size() is not a multiple of batch, the result has a
// batch of 0, which make_rotations refuses.
template <class Number>
[[nodiscard]] PositionArray<Number> positions_of(std::span<const Number> positions,
                                                 std::int64_t batch) noexcept {
  const auto count = static_cast<std::int64_t>(positions.size());
  if (batch < 1 || count % batch != 0) return {.data = positions.data(), .batch = 0};
  const std::int64_t tokens = count / batch;
  return {.data = positions.data(), .batch = batch, .tokens = tokens, .batch_stride = tokens};
}

// The same for a std::vector, std::array or any other contiguous range, which must outlive the
// result.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& tokens) noexcept {
  return positions_of(std::span<const std::ranges::range_value_t<Range>>(tokens));
}
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& positions, std::int64_t batch) noexcept {
  return positions_of(std::span<const std::ranges::range_value_t<Range>>(positions), batch);
}

}  // namespace rotary
