// SPDX-License-Identifier: Apache-2.0
// FIRE's bias of one query to consecutive keys, times log2(e). The terms ln(1 + c d) of all
// distances d are computed beforehand. x is a term divided by the query's denominator. At a break,
// a hidden unit starts or stops contributing. The bias is linear in x between two breaks, so a row
// is a few straight pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/attend/bias/score_bias.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "relative/evaluators.hpp"

namespace rotary {

// One row: one query and one head. Up to lane_multiple values beyond the last may be overwritten.
struct FireRow {
  double denominator = 1;  // FireEvaluator::denominator
  std::int64_t head = 0;
  Distances keys;  // range of key - query, not empty
  float* values = nullptr;
};

// Memory for the breaks and pieces of a row.
struct FireMemory {
  std::int64_t* bounds = nullptr;            // [2][breaks]
  kernels::StraightPiece* pieces = nullptr;  // [2][breaks + 1]
};

// Each row starts its search from the previous one: neighbouring queries change piece at
// neighbouring keys.
class FireRows {
 public:
  FireRows(const relative::FireEvaluator& evaluator, kernels::FillPieces fill_pieces,
           const FireMemory& memory) noexcept;

  // terms[i] belongs to distance first + i; lane_multiple more entries must be readable.
  void set_terms(const double* terms, std::int64_t first) noexcept;

  // Requires terms for all distances of the row.
  void fill(const FireRow& row) noexcept;

 private:
  // Either the keys up to the query or the keys after it.
  struct Side {
    std::int64_t sign = 1;           // key - query = sign * distance
    std::int64_t* bounds = nullptr;  // [breaks]: first distance beyond each break
    std::size_t nearest = 0;         // piece of the nearest distance
    std::size_t farthest = 0;        // piece of the farthest distance
  };
  // Range of distances, both ends included.
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
  std::int64_t first_ = 0;  // distance of terms_[0]
  Side before_;
  Side after_;
  std::int64_t count_ = 0;  // pieces of the current row
};

}  // namespace rotary
