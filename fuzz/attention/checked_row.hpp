// SPDX-License-Identifier: Apache-2.0
// The answers of attend() and attend_mapped() share this: operands as doubles, and the comparison
// of a computed row with the exact one.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz/attention/head_values.hpp"
#include "reference/attention.hpp"
#include "rotary/attention.hpp"
#include "rotary/scores_view.hpp"
#include "tests/support/attention/exact_row.hpp"

namespace rotary::fuzz {

// The heads of this many tokens as one batch row; place(token, head) says where the view has them.
template <class Place>
[[nodiscard]] reference::Heads gathered(const ConstHeadsView& view, std::int64_t tokens,
                                        const Place& place) {
  reference::Heads heads{{1, tokens, view.extents.heads, view.extents.features}, {}};
  for (std::int64_t i = 0; i < tokens * view.extents.heads; ++i) {
    const auto values = head_values(view, place(i / view.extents.heads, i % view.extents.heads));
    heads.values.insert(heads.values.end(), values.begin(), values.end());
  }
  return heads;
}

[[nodiscard]] std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count);

// A factor for each query of a sequence; empty: all 1.
[[nodiscard]] std::vector<double> factors_of(const QueryTemperature& temperature,
                                             const AttentionSequence& sequence);

// Turns token t by row `first` + t of a batch row, in double and by the rows as they are.
void turn(reference::Heads& heads, const Rotations& rotations, std::int64_t batch,
          std::int64_t first);

// The numbers that the library left for a query of one head.
struct ReadRow {
  DType dtype = DType::f32;
  std::vector<double> out;
  std::optional<double> log_sum_exp = {};
  std::vector<double> weights = {};
};
[[nodiscard]] ReadRow read_row(const HeadsView& out, const HeadPlace& at,
                               const std::optional<ScoresView>& log_sum_exp,
                               const std::optional<ScoresView>& weights);

// Ends the process unless what was computed is within the bounds. A row that meets numbers of which
// the contract says nothing may be anything. first_key: the column of key 0 in the weights.
void check_row_of(const test::ExactRow& exact, const ReadRow& computed, std::int64_t first_key,
                  const test::RowBounds& bounds);

}  // namespace rotary::fuzz
