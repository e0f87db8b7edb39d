// SPDX-License-Identifier: Apache-2.0
// A relative bias as the kernels of attention take it: numbers in units of log2, by distance where
// distance alone counts, else by the keys of one query.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary {

// Of key - query, both ends included.
struct Distances {
  std::int64_t first = 0;
  std::int64_t last = -1;

  [[nodiscard]] std::int64_t count() const noexcept { return last - first + 1; }
};

// A bias without what is the same for all keys of a row, which softmax does not see: ALiBi's form
// key_position, slope * key, is the form causal plus slope * query.
struct ScoreBias {
  RelativeBias bias;
  std::vector<double> row_slopes = {};  // [heads], of key_position; empty: none

  // What a query at this position adds to its log-sum-exp.
  [[nodiscard]] double row_constant(std::int64_t head, std::int64_t query) const noexcept {
    if (row_slopes.empty()) return 0;
    return row_slopes[static_cast<std::size_t>(head)] * static_cast<double>(query);
  }
};

// Requires a valid bias.
[[nodiscard]] ScoreBias score_bias(const RelativeBias& bias);

// The range without the distances at its ends that have the bias of the outermost one that stays;
// where it has none at all, one of them.
[[nodiscard]] Distances distinct_distances(const RelativeBias& bias, Distances range) noexcept;

// For heads [first_head, first_head + heads): tables[head * stride + margin + i] of distance
// range.first + i, and `margin` more at each end that repeat the last one there.
struct DistanceTables {
  float* tables = nullptr;
  std::int64_t stride = 0;  // >= range.count() + 2 * margin
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  Distances range;
  std::int64_t margin = 0;
};
void fill_distance_tables(const DistanceTables& tables, const RelativeBias& bias);

// values[head * stride + key] of one query and the keys from first_key on.
struct RowTables {
  float* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t query = 0;  // positions
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
};
void fill_row_tables(const RowTables& tables, const RelativeBias& bias);

}  // namespace rotary
