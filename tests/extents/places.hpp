// SPDX-License-Identifier: Apache-2.0
// Views of any size for the rows of the table. A view without elements lies in memory where any
// access ends the process, and so does an array that claims more elements than exist. Views that
// repeat elements by strides of 0 lie in readable memory.
#pragma once

#include <cstdint>
#include <span>

#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary::test {

// 64 KiB of zeros, at another place in each call until the places are used up and repeat.
[[nodiscard]] void* readable();

// Aligned memory that may be neither read nor written; another place in each call, likewise.
[[nodiscard]] void* untouchable();

// Contiguous along extents small enough to exist; strides of 0 along the others.
[[nodiscard]] HeadsView heads(const Extents& extents, DType dtype = DType::f32);
[[nodiscard]] TokensView tokens(const TokenExtents& n, DType dtype = DType::f32);
[[nodiscard]] ScoresView scores(const ScoresExtents& n, DType dtype = DType::f32);
[[nodiscard]] TableView table(std::int64_t rows, std::int64_t features, DType dtype = DType::f32);
[[nodiscard]] ConstTableView matrix(std::int64_t rows, std::int64_t columns);

// Untouchable unless it has at most 4096 elements.
template <class Number>
[[nodiscard]] std::span<Number> numbers(std::int64_t count) {
  const bool exists = count > 0 && count <= 4096;
  return {static_cast<Number*>(exists ? readable() : untouchable()),
          static_cast<std::size_t>(count)};
}

// All at position 0. Batch rows stand apart, so that many of them are untouchable.
template <class Number>
[[nodiscard]] TokenArray<Number> positions(std::int64_t batch, std::int64_t count) {
  const bool exists = batch >= 1 && batch <= 8 && count > 0;
  return {.data = static_cast<const Number*>(exists ? readable() : untouchable()),
          .batch = batch,
          .tokens = count,
          .batch_stride = 1,
          .token_stride = 0};
}

// Separate for each batch row if there are at most 8, else one for all of them.
template <class Number>
[[nodiscard]] TokenArray<Number> positions_for(std::int64_t batch, std::int64_t count) {
  return positions<Number>(batch > 8 && count > 0 ? 1 : batch, count);
}

// A head of 4 features.
[[nodiscard]] HeadWindow window_of_4();
[[nodiscard]] const Frequencies& frequencies_of_4();

// One row for any number of tokens.
[[nodiscard]] Result<Rotations> rows_for(std::int64_t count);

template <class T>
[[nodiscard]] Status status_of(const Result<T>& result) {
  return result ? Status() : Status(result.error());
}

}  // namespace rotary::test
