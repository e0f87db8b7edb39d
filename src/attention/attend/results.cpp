// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/results.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attention/attend/pair_masks.hpp"
#include "attention/attend/turn_heads.hpp"

namespace rotary {
namespace {

QueryPlace place_of(const BlockContext& block, std::int64_t query, std::int64_t head) {
  return {.batch = block.sequence.batch, .token = block.query_token(query), .head = head};
}

float* scores_at(const ScoresView& view, const QueryPlace& at) {
  return static_cast<float*>(view.data) + score_offset(view.strides, at);
}

void clear_weights(const ScoresView& view, const QueryPlace& at) {
  float* const row = scores_at(view, at);
  for (std::int64_t key = 0; key < view.extents.keys; ++key) row[key * view.strides.key] = 0;
}

void clear(const AttendCall& call, const QueryPlace& at) {
  const Extents& n = call.out.extents;
  const auto bytes = static_cast<std::size_t>(n.features * size_in_bytes(call.out.dtype));
  std::fill_n(head_at(call.out, at.batch, at.token, at.head), bytes, std::byte{0});
  if (call.weights() != nullptr) clear_weights(*call.weights(), at);
  if (const auto& view = call.options.log_sum_exp)
    *scores_at(*view, at) = -std::numeric_limits<float>::infinity();
}

void store_log_sum_exp(const BlockHead& head) {
  const BlockContext& block = head.of;
  const auto& view = block.call.args.options.log_sum_exp;
  if (!view) return;
  const auto& bias = block.call.bias;
  const kernels::SoftmaxState state = head.state(0);
  head.for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t query_head) {
    const double sum = state.sum[row];
    const double constant = bias ? bias->row_constant(query_head, block.query_position(query)) : 0;
    const double value = sum == 0
                             ? -std::numeric_limits<double>::infinity()
                             : (state.max[row] + std::log2(sum)) * std::numbers::ln2 + constant;
    *scores_at(*view, place_of(block, query, query_head)) = static_cast<float>(value);
  });
}

}  // namespace

void clear_gaps(const AttendCall& call) {
  const Extents& n = call.q.extents;
  std::int64_t batch = 0;
  std::int64_t token = 0;  // first token of `batch` after the sequences so far
  const auto clear_to = [&](std::int64_t end) {
    for (; token < end; ++token) {
      for (std::int64_t head = 0; head < n.heads; ++head) clear(call, {batch, token, head});
    }
  };
  const auto clear_rows_to = [&](std::int64_t next_batch) {
    for (; batch < next_batch; ++batch, token = 0) clear_to(n.tokens);
  };
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.count(); ++index) {
    const AttentionSequence sequence = sequences[index];
    clear_rows_to(sequence.batch);
    clear_to(sequence.first_query);
    token = sequence.first_query + sequence.queries;
  }
  clear_rows_to(n.batch);
}

void clear_weights(const BlockHead& head) {
  const ScoresView& view = *head.of.call.args.weights();
  head.for_each_row([&](std::int64_t, std::int64_t query, std::int64_t query_head) {
    clear_weights(view, place_of(head.of, query, query_head));
  });
}

void store_weights(const BlockHead& head, std::int64_t first_row, const KeyRun& tile) {
  const BlockContext& block = head.of;
  const BlockShape& shape = block.unit.shape;
  const Scratch& scratch = block.scratch;
  const std::int64_t run = first_row / shape.run_stride();
  const std::int64_t first = first_row % shape.run_stride();
  const std::int64_t rows = std::min(kernels::rows_of_group, shape.rows_of_run() - first);
  const kernels::SoftmaxState state = head.from_row(head.state(), first_row);
  block.call.kernels.find_weights({.queries = scratch.packed_queries,
                                   .first = first_row,
                                   .rows = rows,
                                   .limits = scratch.limits + first_row,
                                   .head_dim = block.head_dim(),
                                   .keys = scratch.packed_keys,
                                   .first_key = tile.begin,
                                   .count = tile.end - tile.begin,
                                   .max = state.max,
                                   .sum = state.sum,
                                   .weights = scratch.of_kernels,
                                   .changes = changes_from(block, first_row)});
  const ScoresView& view = *block.call.args.weights();
  for (std::int64_t i = 0; i < rows; ++i) {
    const kernels::RowLimits& limits = scratch.limits[first_row + i];
    const std::int64_t query_head = head.first_query_head() + shape.head_of(run, first + i);
    float* const to = scores_at(view, place_of(block, shape.query_of(first + i), query_head)) +
                      block.sequence.first_key * view.strides.key;
    const std::int64_t end = std::min(limits.end_key, tile.end);
    for (std::int64_t key = std::max(limits.first_key, tile.begin); key < end; ++key)
      to[key * view.strides.key] = scratch.of_kernels[i * kernels::keys_of_tile + key - tile.begin];
  }
}

void store_results(const BlockHead& head) {
  const BlockContext& block = head.of;
  const auto finish = of_dtype(block.call.kernels.types, block.call.args.out.dtype).finish;
  head.for_each_chunk([&](const RowChunk& chunk) {
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      const std::int64_t token = block.query_token(block.unit.shape.query_of(chunk.first + i));
      const std::int64_t query_head =
          head.first_query_head() + block.unit.shape.head_of(chunk.run, chunk.first + i);
      block.scratch.results[i] =
          head_at(block.call.args.out, block.sequence.batch, token, query_head);
    }
    const std::int64_t row = chunk.run * block.unit.shape.run_stride() + chunk.first;
    finish({.state = head.from_row(head.state(0), row),
            .rows = chunk.count,
            .features = block.features(),
            .heads = block.scratch.results});
  });
  store_log_sum_exp(head);
}

}  // namespace rotary
