// SPDX-License-Identifier: Apache-2.0
// Reads and writes elements of strided views as doubles, one at a time or a row of keys at once.
// Reading is exact; writing rounds once, to nearest even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rotary/tensor_view.hpp"

namespace rotary::relative {

// Reads or writes element `index` of `data`. Requires a known dtype.
[[nodiscard]] double load(const void* data, DType dtype, std::int64_t index) noexcept;
void store(void* data, DType dtype, std::int64_t index, double value) noexcept;

// One score of a block.
struct ScoreIndex {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;  // row
  std::int64_t key = 0;    // column
};

[[nodiscard]] inline std::int64_t element_of(const ScoresStrides& s,
                                             const ScoreIndex& at) noexcept {
  return at.batch * s.batch + at.head * s.head + at.query * s.query + at.key * s.key;
}
[[nodiscard]] inline double load(const ConstScoresView& view, const ScoreIndex& at) noexcept {
  return load(view.data, view.dtype, element_of(view.strides, at));
}
inline void add(const ScoresView& view, const ScoreIndex& at, double value) noexcept {
  const std::int64_t element = element_of(view.strides, at);
  store(view.data, view.dtype, element, load(view.data, view.dtype, element) + value);
}

// Reads, writes or adds to row.size() scores of one query, starting at key at.key.
void load_scores(std::span<double> row, const ConstScoresView& view, const ScoreIndex& at) noexcept;
void store_scores(const ScoresView& view, const ScoreIndex& at,
                  std::span<const double> row) noexcept;
void add_scores(const ScoresView& view, const ScoreIndex& at, std::span<const double> row) noexcept;

// Rounds values to the dtype and writes them to adjacent elements. `elements` has values.size()
// times the dtype's size in bytes.
void round_elements(std::span<std::byte> elements, DType dtype,
                    std::span<const double> values) noexcept;

// Reads, or adds to, the features of one head of one token.
void load_features(std::span<double> features, const ConstHeadsView& view,
                   const ScoreIndex& at) noexcept;
void add_features(const HeadsView& view, const ScoreIndex& at,
                  std::span<const double> features) noexcept;

void load_row(std::span<double> row_values, const ConstTableView& table, std::int64_t row) noexcept;

}  // namespace rotary::relative
