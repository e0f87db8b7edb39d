// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/bias/shaw_block.hpp"

#include <algorithm>

#include "attention/attend/key_splits.hpp"
#include "attention/attend/turn_heads.hpp"

namespace rotary {

using kernels::distance_scores_size;
using kernels::rows_of_group;

// Range of Shaw's key vectors that a row uses.
KeyRun ShawBlock::keys_met_by(std::int64_t row, std::int64_t query) const {
  KeyRun met;
  for (const KeyRun& keys : {scratch_.sinks[row], scratch_.windows[row]}) {
    if (keys.empty()) continue;
    met = hull(met, shaw_.keys.met_by(keys, vector_of_key_0(shaw_.keys, query)));
  }
  return met;
}

bool ShawBlock::score(const kernels::QueriesJob& loading, std::int64_t run,
                      std::int64_t first) const {
  if (shaw_.keys.count == 0) return false;
  kernels::QueriesJob job = loading;
  job.rotation = {};
  job.packed = scratch_.packed_queries;
  const std::int64_t first_row = run * shape_.run_stride() + first;
  job.first = shape_.path == KeyPath::streamed ? 0 : first_row;
  of_dtype(*table_.attend, call_.q.dtype).load_queries(job);
  for (std::int64_t i = 0; i < job.rows; i += rows_of_group) {
    const std::int64_t rows = std::min(rows_of_group, job.rows - i);
    KeyRun met;
    for (std::int64_t r = i; r < i + rows; ++r)
      met = hull(met, keys_met_by(first_row + r, shape_.query_of(first + r)));
    if (met.empty()) continue;
    const std::int64_t row = row_of_head() + first_row + i;
    table_.attend->score_distances(
        {.queries = scratch_.packed_queries,
         .first = job.first + i,
         .rows = rows,
         .head_dim = head_dim(),
         .vectors = shaw_.keys.packed,
         .count = shaw_.keys.count,
         .begin = met.begin,
         .end = met.end,
         .scores = scratch_.distance_scores + row * distance_scores_size(shaw_.keys.count)});
  }
  return true;
}

void ShawBlock::set_limits() const {
  if (shaw_.keys.count == 0 && shaw_.values.count == 0) return;
  const std::int64_t stride = distance_scores_size(shaw_.keys.count);
  for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
    kernels::RowLimits& limits = scratch_.limits[row];
    limits.place_of_key_0 = vector_of_key_0(shaw_.values, query);
    if (shaw_.keys.count == 0) return;
    limits.bias = scratch_.distance_scores + (row_of_head() + row) * stride;
    limits.bias_of_key_0 = kernels::keys_of_panel + vector_of_key_0(shaw_.keys, query);
    limits.bias_count = kernels::keys_of_panel * 2 + shaw_.keys.count;
  });
}

ShawBlock::Met ShawBlock::values_met_by(std::int64_t row, std::int64_t query) const {
  const std::int64_t key_0 = vector_of_key_0(shaw_.values, query);
  Met met{.sinks = scratch_.sinks[row], .window = scratch_.windows[row]};
  if (!met.sinks.empty()) met.sinks = shaw_.values.met_by(met.sinks, key_0);
  if (!met.window.empty()) met.window = shaw_.values.met_by(met.window, key_0);
  const bool share = !met.sinks.empty() && !met.window.empty() && met.sinks.end > met.window.begin;
  return share ? Met{.sinks = {}, .window = hull(met.sinks, met.window)} : met;
}

void ShawBlock::add_values_met(KeyRun Met::*run) const {
  std::fill_n(scratch_.limits, shape_.rows(), kernels::RowLimits{});
  bool any = false;
  for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
    const KeyRun met = values_met_by(row, query).*run;
    scratch_.limits[row].first_key = met.begin;
    scratch_.limits[row].end_key = met.end;
    any = any || !met.empty();
  });
  if (!any) return;
  table_.attend->add_place_values({.state = state_of(0),
                                   .limits = scratch_.limits,
                                   .rows = shape_.rows(),
                                   .features = features(),
                                   .values = shaw_.values.packed,
                                   .scratch = scratch_.of_kernels});
}

// Vectors that a row does not use are left out, not multiplied by 0: they may hold NaN.
void ShawBlock::add_values() const {
  if (shaw_.values.count == 0) return;
  add_values_met(&Met::sinks);
  add_values_met(&Met::window);
}

}  // namespace rotary
