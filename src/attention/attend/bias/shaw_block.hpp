// SPDX-License-Identifier: Apache-2.0
// Shaw's vectors in one block. Key vectors give each row a table of biases that its scores start
// from. Value vectors are multiplied at the end by the sums of weights at each distance.
#pragma once

#include "attention/attend/block_rows.hpp"

namespace rotary {

class ShawBlock : public BlockRows {
 public:
  using BlockRows::BlockRows;

  // Computes what the key vectors add to the scores of the rows that `loading` loads: rows of run
  // `run` from index `first` on, before rotation. Returns whether it has loaded the rows, without
  // rotation.
  [[nodiscard]] bool score(const kernels::QueriesJob& loading, std::int64_t run,
                           std::int64_t first) const;

  // Sets bias and place_of_key_0 in the limits of all rows.
  void set_limits() const;

  // Adds the value vectors to the first split. Requires that it holds everything the queries attend
  // to and that sinks and windows cover the same keys. Overwrites the limits.
  void add_values() const;

 private:
  // Range of vectors that a row uses.
  struct Met {
    KeyRun sinks;
    KeyRun window;
  };

  // Index of the vector for key 0 and a query, before clamping.
  [[nodiscard]] std::int64_t vector_of_key_0(const ShawVectors& vectors, std::int64_t query) const {
    return sequence_.key_position - query_position(query) - vectors.first;
  }
  [[nodiscard]] KeyRun keys_met_by(std::int64_t row, std::int64_t query) const;
  [[nodiscard]] Met values_met_by(std::int64_t row, std::int64_t query) const;
  void add_values_met(KeyRun Met::*run) const;
};

}  // namespace rotary
