// SPDX-License-Identifier: Apache-2.0
// FIRE's bias of one query to consecutive keys, in units of log2. With a term for each distance
// made before, ln(1 + c d), a row is a few straight pieces of it: x is the term divided by the
// query's own number, and where x passes a break of the network its slope changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attend/bias/score_bias.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "relative/evaluators.hpp"

namespace rotary {

// Of one query and one head. Values may be written up to lane_multiple places beyond the last.
struct FireRow {
  double denominator = 1;  // FireEvaluator::denominator
  std::int64_t head = 0;
  Distances keys;  // key - query, not empty
  float* values = nullptr;
};

// Memory for the pieces of a row.
struct FireMemory {
  std::int64_t* bounds = nullptr;            // [2][breaks]
  kernels::StraightPiece* pieces = nullptr;  // [2][breaks + 1]
};

// Rows are found from the one before: neighbouring queries change piece at neighbouring keys.
class FireRows {
 public:
  FireRows(const relative::FireEvaluator& evaluator, kernels::FillPieces fill_pieces,
           const FireMemory& memory) noexcept;

  // terms[i] belongs to distance first + i; lane_multiple more can be read.
  void set_terms(const double* terms, std::int64_t first) noexcept;

  // Requires terms of all of its keys.
  void fill(const FireRow& row) noexcept;

 private:
  // Keys up to the query, or after it.
  struct Side {
    std::int64_t sign = 1;           // key - query = sign * distance
    std::int64_t* bounds = nullptr;  // [breaks]: the first distance beyond each
    std::size_t nearest = 0;         // piece
    std::size_t farthest = 0;
  };
  // Both ends included.
  struct Reach {
    std::int64_t nearest = 0;
    std::int64_t farthest = 0;
  };

  [[nodiscard]] double term(const Side& side, std::int64_t distance) const noexcept {
    return terms_[side.sign * distance - first_];
  }
  [[nodiscard]] std::size_t piece_from(std::size_t piece, double term,
                                       double denominator) const noexcept;
  [[nodiscard]] std::int64_t bound_from(const Side& side, std::size_t piece, const Reach& reach,
                                        double denominator) const noexcept;
  void find(Side& side, const Reach& reach, double denominator) const noexcept;
  void add(const FireRow& row, std::size_t piece, std::int64_t end) noexcept;
  void add_before(const FireRow& row, const Reach& reach) noexcept;
  void add_after(const FireRow& row, const Reach& reach) noexcept;

  const relative::FireEvaluator& evaluator_;
  kernels::FillPieces fill_pieces_;
  FireMemory memory_;
  const double* terms_ = nullptr;
  std::int64_t first_ = 0;  // distance
  Side before_;
  Side after_;
  std::int64_t count_ = 0;  // of pieces of the current row
};

}  // namespace rotary
