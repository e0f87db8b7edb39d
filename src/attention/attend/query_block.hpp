// SPDX-License-Identifier: Apache-2.0
// One unit of work of attend(): its state and the algorithm.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/attend/attend_plan.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/bias/bias_tables.hpp"
#include "attention/attend/checked_call.hpp"

namespace rotary {

// Memory that all blocks of a call share.
struct SharedMemory {
  ShawOfCall shaw;  // packed
  PartialStates partial;
};

struct BlockContext {
  const CheckedCall& call;
  const SharedMemory& shared;
  const QueryBlock& unit;
  const Scratch& scratch;  // of the worker
  BiasTables& biases;      // of the worker
  const AttentionSequence sequence = call.plan.of.sequences[unit.sequence];

  [[nodiscard]] std::int64_t head_dim() const { return call.args.q.extents.features; }
  [[nodiscard]] std::int64_t features() const { return call.args.v.extents.features; }
  // `query` counts from the block's first query.
  [[nodiscard]] std::int64_t query_position(std::int64_t query) const {
    return sequence.query_position + unit.first_query + query;
  }
  [[nodiscard]] std::int64_t query_token(std::int64_t query) const {
    return sequence.first_query + unit.first_query + query;
  }
  [[nodiscard]] std::int64_t distance_of_key_0(std::int64_t query) const {
    return sequence.key_position - query_position(query);
  }
};

// Rows of one run that are loaded or stored together. `first` counts within the run.
struct RowChunk {
  std::int64_t run = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// One kv head of a block and the rows of its query heads.
struct BlockHead {
  const BlockContext& of;
  std::int64_t index = 0;  // within the block

  [[nodiscard]] std::int64_t kv_head() const { return of.unit.first_kv_head + index; }
  [[nodiscard]] std::int64_t first_query_head() const { return kv_head() * of.unit.shape.group; }
  // Streamed rows stay loaded, so each kv head has its own memory.
  [[nodiscard]] float* loaded() const {
    if (of.unit.shape.path == KeyPath::packed) return of.scratch.loaded;
    return of.scratch.loaded + first_row() * kernels::padded_features(of.head_dim());
  }
  // Index of this head's first row among the rows of all kv heads.
  [[nodiscard]] std::int64_t first_row() const { return index * of.unit.shape.rows(); }

  [[nodiscard]] kernels::SoftmaxState state(std::int64_t split) const {
    const bool alone = of.unit.splits == 1;
    const kernels::SoftmaxState& all = alone ? of.scratch.state : of.shared.partial.states;
    const std::int64_t first = alone ? 0 : of.unit.first_partial_row + split * of.unit.rows();
    return from_row(all, first + first_row());
  }
  [[nodiscard]] kernels::SoftmaxState state() const { return state(of.unit.split); }

  [[nodiscard]] kernels::SoftmaxState from_row(kernels::SoftmaxState state,
                                               std::int64_t row) const {
    state.max += row;
    state.sum += row;
    state.sums_of_values += row * kernels::padded_features(of.features());
    if (state.sums_of_weights != nullptr)
      state.sums_of_weights += row * kernels::sums_of_weights_size(state.places);
    return state;
  }

  // Calls visit(row, query, head). `head` counts among all query heads.
  template <class Visit>
  void for_each_row(const Visit& visit) const {
    const BlockShape& shape = of.unit.shape;
    for (std::int64_t run = 0; run < shape.runs(); ++run) {
      for (std::int64_t i = 0; i < shape.rows_of_run(); ++i) {
        visit(run * shape.run_stride() + i, shape.query_of(i),
              first_query_head() + shape.head_of(run, i));
      }
    }
  }

  // Calls visit(chunk) for the rows of all runs, at most rows_of_load at a time.
  template <class Visit>
  void for_each_chunk(const Visit& visit) const {
    const std::int64_t rows = of.unit.shape.rows_of_run();
    for (std::int64_t run = 0; run < of.unit.shape.runs(); ++run) {
      for (std::int64_t first = 0; first < rows; first += rows_of_load)
        visit(RowChunk{.run = run, .first = first, .count = std::min(rows_of_load, rows - first)});
    }
  }
};

// Cannot fail and allocates nothing. The result's bits depend only on the block.
void attend_block(const BlockContext& block);

}  // namespace rotary
