// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/weights_of_block.hpp"

#include <algorithm>

namespace rotary {

using kernels::keys_of_tile;
using kernels::rows_of_group;

float* WeightsOfBlock::weights_of(std::int64_t query, std::int64_t head) const {
  const ScoresView& view = *call_.weights();
  return static_cast<float*>(view.data) + sequence_.batch * view.strides.batch +
         (first_head() + head) * view.strides.head + query_token(query) * view.strides.query;
}

void WeightsOfBlock::clear() const {
  const ScoresView& view = *call_.weights();
  for_each_row([&](std::int64_t, std::int64_t query, std::int64_t head) {
    float* const row = weights_of(query, head);
    for (std::int64_t key = 0; key < view.extents.keys; ++key) row[key * view.strides.key] = 0;
  });
}

void WeightsOfBlock::store(std::int64_t first_row, const KeyRun& tile) const {
  const std::int64_t run = first_row / shape_.run_stride();
  const std::int64_t first = first_row % shape_.run_stride();
  const std::int64_t rows = std::min(rows_of_group, shape_.rows_of_run() - first);
  const kernels::SoftmaxState state = from_row(this->state(), first_row);
  table_.attend->find_weights({.queries = scratch_.packed_queries,
                               .first = first_row,
                               .rows = rows,
                               .limits = scratch_.limits + first_row,
                               .head_dim = head_dim(),
                               .keys = scratch_.packed_keys,
                               .first_key = tile.begin,
                               .count = tile.end - tile.begin,
                               .max = state.max,
                               .sum = state.sum,
                               .weights = scratch_.of_kernels});
  const std::int64_t stride = call_.weights()->strides.key;
  for (std::int64_t i = 0; i < rows; ++i) {
    const kernels::RowLimits& limits = scratch_.limits[first_row + i];
    float* const to = weights_of(shape_.query_of(first + i), shape_.head_of(run, first + i)) +
                      sequence_.first_key * stride;
    const std::int64_t end = std::min(limits.end_key, tile.end);
    for (std::int64_t key = std::max(limits.first_key, tile.begin); key < end; ++key)
      to[key * stride] = scratch_.of_kernels[i * keys_of_tile + key - tile.begin];
  }
}

}  // namespace rotary
