// SPDX-License-Identifier: Apache-2.0
// Shaw's vectors in one block: of the keys, a table of biases for each row, which scores begin in;
// of the values, sums of weights by distance, which multiply the vectors at the end.
#pragma once

#include "attention/attend/block_rows.hpp"

namespace rotary {

class ShawBlock : public BlockRows {
 public:
  using BlockRows::BlockRows;

  // Of what a job loads, rows of a run from index `first` on, before anything turns them: what they
  // add to scores. Whether it has done the job, but for the turning.
  [[nodiscard]] bool score(const kernels::QueriesJob& loading, std::int64_t run,
                           std::int64_t first) const;

  // Into the limits of all rows.
  void set_limits() const;

  // To the first split, when it has all that the queries attend to, as have sinks and windows.
  // Overwrites the limits.
  void add_values() const;

 private:
  // Vectors that a row meets.
  struct Met {
    KeyRun sinks;
    KeyRun window;
  };

  // Of key 0 and a query.
  [[nodiscard]] std::int64_t vector_of_key_0(const ShawVectors& vectors, std::int64_t query) const {
    return sequence_.key_position - query_position(query) - vectors.first;
  }
  [[nodiscard]] KeyRun keys_met_by(std::int64_t row, std::int64_t query) const;
  [[nodiscard]] Met values_met_by(std::int64_t row, std::int64_t query) const;
  void add_values_met(KeyRun Met::*run) const;
};

}  // namespace rotary
