// SPDX-License-Identifier: Apache-2.0
// One row of CoPE: gates, positions, and where each position lies between two rows of the table.
// Shared by the forward pass and its gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relative/elements.hpp"
#include "relative/pair_positions.hpp"
#include "rotary/cope.hpp"
#include "rotary/result.hpp"

namespace rotary::relative {

// A position p between rows lower and upper: p = lower + share. share is NaN where p is.
struct TablePlace {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  double share = 0;
};

// The checks that forward and gradient have in common, without those of their destinations.
[[nodiscard]] Status check_cope(const ConstScoresView& scores, const ConstHeadsView& q,
                                const Cope& cope);

// The table, and the buffers of one row; made once for a call.
class ContextualRow {
 public:
  // Requires checked arguments.
  ContextualRow(const Cope& cope, const ConstScoresView& scores);

  // Makes the row at `at` current: products of its query with the table, gates, positions.
  void read(const ConstScoresView& scores, const ConstHeadsView& q, const ScoreIndex& at,
            std::int64_t keys);

  // Keys up to the query's own, of `keys` in the block.
  [[nodiscard]] static std::int64_t visible(const PairPositions& positions, std::int64_t row,
                                            std::int64_t keys) noexcept;

  [[nodiscard]] double bias(std::int64_t key) const noexcept;
  // ∂bias/∂position: 0 on whole numbers, which clipped positions are.
  [[nodiscard]] double slope(std::int64_t key) const noexcept;
  [[nodiscard]] double gate(std::int64_t key) const noexcept;
  [[nodiscard]] const TablePlace& place(std::int64_t key) const noexcept;
  [[nodiscard]] std::span<const double> query() const noexcept { return query_; }
  [[nodiscard]] std::span<const double> table_row(std::int64_t row) const noexcept;
  // Rows of the table that a row of this block can reach.
  [[nodiscard]] std::int64_t table_rows() const noexcept { return table_rows_; }

 private:
  std::int64_t table_rows_;
  double last_position_;
  std::vector<double> table_;       // [table_rows][features]
  std::vector<double> columns_;     // [features][table_rows]
  std::vector<double> query_;       // [features]
  std::vector<double> products_;    // [table_rows]
  std::vector<double> gates_;       // [keys]
  std::vector<TablePlace> places_;  // [keys]
};

}  // namespace rotary::relative
