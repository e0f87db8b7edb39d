// SPDX-License-Identifier: Apache-2.0
// The rows of one block, for one of its kv heads at a time: the query and head of each row, and the
// location of its state.
#pragma once

#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_scratch.hpp"
#include "attention/attend/query_block.hpp"
#include "kernels/kernels.hpp"

namespace rotary {

class BlockRows {
 public:
  BlockRows(const Attending& attending, const QueryBlock& block, const Scratch& scratch)
      : call_(attending.call),
        table_(attending.kernels),
        shaw_(attending.shaw),
        partial_(attending.partial),
        block_(block),
        shape_(block.shape),
        sequence_(attending.call.sequence(block.sequence)),
        scratch_(scratch) {}

  // Makes `head` of the block the current kv head of all members below.
  void enter(std::int64_t head) { head_ = head; }

 protected:
  [[nodiscard]] std::int64_t head_dim() const { return call_.q.extents.features; }
  [[nodiscard]] std::int64_t features() const { return call_.v.extents.features; }
  [[nodiscard]] std::int64_t query_position(std::int64_t query) const {
    return sequence_.query_position + block_.first_query + query;
  }
  [[nodiscard]] std::int64_t query_token(std::int64_t query) const {
    return sequence_.first_query + block_.first_query + query;
  }
  [[nodiscard]] std::int64_t kv_head() const { return block_.first_kv_head + head_; }
  [[nodiscard]] std::int64_t first_head() const { return kv_head() * shape_.group; }
  [[nodiscard]] std::int64_t row_of_head() const { return head_ * shape_.rows(); }

  // Calls visit(row, query, head); all three count from 0 within the block and kv head.
  template <class Visit>
  void for_each_row(const Visit& visit) const {
    for (std::int64_t run = 0; run < shape_.runs(); ++run) {
      for (std::int64_t i = 0; i < shape_.rows_of_run(); ++i)
        visit(run * shape_.run_stride() + i, shape_.query_of(i), shape_.head_of(run, i));
    }
  }

  // The state of a split of the block.
  [[nodiscard]] kernels::SoftmaxState state_of(std::int64_t split) const {
    const bool alone = block_.splits == 1;
    const kernels::SoftmaxState& all = alone ? scratch_.state : partial_.states;
    const std::int64_t first = alone ? 0 : block_.first_partial_row + split * block_.rows();
    return from_row(all, first + row_of_head());
  }
  [[nodiscard]] kernels::SoftmaxState state() const { return state_of(block_.split); }
  [[nodiscard]] kernels::SoftmaxState from_row(const kernels::SoftmaxState& all,
                                               std::int64_t row) const {
    kernels::SoftmaxState state = all;
    state.max += row;
    state.sum += row;
    state.sums_of_values += row * kernels::padded_features(features());
    if (all.sums_of_weights != nullptr)
      state.sums_of_weights += row * kernels::sums_of_weights_size(all.places);
    return state;
  }

  const AttendCall& call_;
  const kernels::KernelTable& table_;
  const ShawOfCall& shaw_;
  const PartialStates& partial_;
  const QueryBlock& block_;
  const BlockShape& shape_;
  const AttentionSequence sequence_;
  const Scratch& scratch_;
  std::int64_t head_ = 0;
};

}  // namespace rotary
