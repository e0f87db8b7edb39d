// SPDX-License-Identifier: Apache-2.0
// The positions of tokens: integers or doubles, negative ones included.
//
//   const std::vector<std::int32_t> packed = {0, 1, 2, 0, 1};
//   const auto rotations = make_rotations(frequencies, positions_of(packed));
#ifndef ROTARY_POSITIONS_HPP
#define ROTARY_POSITIONS_HPP

#include <cstdint>
#include <ranges>
#include <variant>

namespace rotary {

// One number for each token of each batch row: positions, or slots of a cache. Not owned.
//
//   const std::vector<std::int32_t> numbers = {0, 1, 2, 0, 1};  // two packed documents
//   const auto positions = token_array(numbers);                // [tokens]
//   const auto batched = token_array(numbers, 5);               // [5][1]

// Number (a, b, t) is at data + a*axis_stride + b*batch_stride + t*token_stride; strides are in
// elements. data must live until the call returns. With batch 1, every batch row of the tensors has
// the same numbers. axes: number of coordinates of a token, as in the frequencies (axes.hpp).
template <class Number>
struct TokenArray {
  const Number* data = nullptr;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 1;
  std::int64_t axes = 1;
  std::int64_t axis_stride = 0;
};

// [tokens], the same for every batch row. The range must outlive the result.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto token_array(const Range& numbers) noexcept {
  return TokenArray<std::ranges::range_value_t<Range>>{
      .data = std::ranges::data(numbers),
      .tokens = static_cast<std::int64_t>(std::ranges::size(numbers))};
}

// [batch, tokens]. A size that is not a multiple of batch gives batch 0, which every call refuses.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto token_array(const Range& numbers, std::int64_t batch) noexcept {
  auto array = token_array(numbers);
  array.batch = batch >= 1 && array.tokens % batch == 0 ? batch : 0;
  array.tokens = array.batch == 0 ? 0 : array.tokens / batch;
  array.batch_stride = array.tokens;
  return array;
}

// [axes, batch, tokens]: position_ids of a model with images. A size that is not a multiple of axes
// * batch gives batch 0.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto token_array(const Range& numbers, std::int64_t batch,
                               std::int64_t axes) noexcept {
  const auto size = static_cast<std::int64_t>(std::ranges::size(numbers));
  const bool fits = axes >= 1 && batch >= 1 && batch <= size / axes;
  auto array = token_array(numbers, fits ? batch * axes : 0);
  array.batch = array.batch == 0 ? 0 : batch;
  array.axes = axes;
  array.axis_stride = batch * array.tokens;
  return array;
}

// Token t of every batch row has position first + t.
struct ConsecutivePositions {
  std::int64_t first = 0;
  std::int64_t tokens = 0;
};

// The positions of a call. Doubles are for interpolated positions and continuous time: finite,
// within int64; a whole number gives the bits of the integer. With frequencies of several axes, a
// token has a coordinate for each axis, or one that all axes use (text).
using Positions = std::variant<ConsecutivePositions, TokenArray<std::int32_t>,
                               TokenArray<std::int64_t>, TokenArray<double>>;

// token_array() under a name for positions.
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& tokens) noexcept {
  return token_array(tokens);
}
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& positions, std::int64_t batch) noexcept {
  return token_array(positions, batch);
}
// [axes, batch, tokens].
template <std::ranges::contiguous_range Range>
[[nodiscard]] auto positions_of(const Range& positions, std::int64_t batch,
                                std::int64_t axes) noexcept {
  return token_array(positions, batch, axes);
}

}  // namespace rotary

#endif  // ROTARY_POSITIONS_HPP
