// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/bias/shaw_block.hpp"

#include <algorithm>

#include "attention/attend/turn_heads.hpp"

namespace rotary {
namespace {

using kernels::distance_scores_size;
using kernels::rows_of_group;

// Index of the vector for key 0 and a query, before clamping.
std::int64_t vector_of_key_0(const BlockContext& block, const ShawVectors& vectors,
                             std::int64_t query) {
  return block.distance_of_key_0(query) - vectors.first;
}

// Range of key vectors that a row uses.
KeyRun keys_met_by(const BlockContext& block, std::int64_t row, std::int64_t query) {
  const ShawVectors& vectors = block.shared.shaw.keys;
  KeyRun met;
  for (const KeyRun& keys : {block.scratch.sinks[row], block.scratch.windows[row]}) {
    if (keys.empty()) continue;
    met = hull(met, vectors.met_by(keys, vector_of_key_0(block, vectors, query)));
  }
  return met;
}

// Ranges of value vectors that a row uses.
struct Met {
  KeyRun sinks;
  KeyRun window;
};

Met values_met_by(const BlockContext& block, std::int64_t row, std::int64_t query) {
  const ShawVectors& vectors = block.shared.shaw.values;
  const std::int64_t key_0 = vector_of_key_0(block, vectors, query);
  Met met{.sinks = block.scratch.sinks[row], .window = block.scratch.windows[row]};
  if (!met.sinks.empty()) met.sinks = vectors.met_by(met.sinks, key_0);
  if (!met.window.empty()) met.window = vectors.met_by(met.window, key_0);
  const bool share = !met.sinks.empty() && !met.window.empty() && met.sinks.end > met.window.begin;
  return share ? Met{.sinks = {}, .window = hull(met.sinks, met.window)} : met;
}

void add_values_met(const BlockHead& head, KeyRun Met::*run) {
  const BlockContext& block = head.of;
  kernels::RowLimits* const limits = block.scratch.limits;
  std::fill_n(limits, block.unit.shape.rows(), kernels::RowLimits{});
  bool any = false;
  head.for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
    const KeyRun met = values_met_by(block, row, query).*run;
    limits[row].first_key = met.begin;
    limits[row].end_key = met.end;
    any = any || !met.empty();
  });
  if (!any) return;
  block.call.kernels.add_place_values(
      {.state = head.state(0),
       .limits = limits,
       .rows = block.unit.shape.rows(),
       .features = block.features(),
       .values = block.shared.shaw.values.packed,
       .scratch = block.scratch.of_kernels,
       .seen = block.call.args.masks_pairs() ? block.scratch.seen : nullptr});
}

}  // namespace

bool score_shaw_keys(const BlockHead& head, const RowChunk& chunk,
                     const kernels::QueriesJob& loading) {
  const BlockContext& block = head.of;
  const ShawVectors& vectors = block.shared.shaw.keys;
  if (vectors.count == 0) return false;
  kernels::QueriesJob job = loading;
  job.rotation = {};
  job.packed = block.scratch.packed_queries;
  const std::int64_t first_row = chunk.run * block.unit.shape.run_stride() + chunk.first;
  job.first = block.unit.shape.path == KeyPath::streamed ? 0 : first_row;
  of_dtype(block.call.kernels.types, block.call.args.q.dtype).load_queries(job);
  for (std::int64_t i = 0; i < job.rows; i += rows_of_group) {
    const std::int64_t rows = std::min(rows_of_group, job.rows - i);
    KeyRun met;
    for (std::int64_t r = i; r < i + rows; ++r)
      met =
          hull(met, keys_met_by(block, first_row + r, block.unit.shape.query_of(chunk.first + r)));
    if (met.empty()) continue;
    const std::int64_t row = head.first_row() + first_row + i;
    block.call.kernels.score_distances(
        {.queries = block.scratch.packed_queries,
         .first = job.first + i,
         .rows = rows,
         .head_dim = block.head_dim(),
         .vectors = vectors.packed,
         .count = vectors.count,
         .begin = met.begin,
         .end = met.end,
         .scores = block.scratch.distance_scores + row * distance_scores_size(vectors.count)});
  }
  return true;
}

void set_shaw_limits(const BlockHead& head) {
  const BlockContext& block = head.of;
  const ShawVectors& keys = block.shared.shaw.keys;
  const ShawVectors& values = block.shared.shaw.values;
  if (keys.count == 0 && values.count == 0) return;
  const std::int64_t stride = distance_scores_size(keys.count);
  head.for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
    kernels::RowLimits& limits = block.scratch.limits[row];
    limits.place_of_key_0 = vector_of_key_0(block, values, query);
    if (keys.count == 0) return;
    limits.bias = block.scratch.distance_scores + (head.first_row() + row) * stride;
    limits.bias_of_key_0 = kernels::keys_of_panel + vector_of_key_0(block, keys, query);
    limits.bias_count = kernels::keys_of_panel * 2 + keys.count;
  });
}

// Skips vectors that a row does not use instead of multiplying them by 0: they may hold NaN.
void add_shaw_values(const BlockHead& head) {
  if (head.of.shared.shaw.values.count == 0) return;
  add_values_met(head, &Met::sinks);
  add_values_met(head, &Met::window);
}

}  // namespace rotary
