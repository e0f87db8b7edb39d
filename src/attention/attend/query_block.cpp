// SPDX-License-Identifier: Apache-2.0
// A block processes its keys tile by tile: first sinks, then the window. Each row keeps a running
// maximum, sum and sum of values (SoftmaxState), so no full row of scores ever exists. All kv heads
// process a tile before the next tile: if kv heads are adjacent, a tile is contiguous memory.
#include "attention/attend/query_block.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numbers>

#include "attention/attend/bias/shaw_block.hpp"
#include "attention/attend/key_blocks.hpp"
#include "attention/attend/pair_masks.hpp"
#include "attention/attend/results.hpp"
#include "attention/attend/turn_heads.hpp"

namespace rotary {
namespace {

using kernels::keys_of_tile;
using kernels::padded_features;

class Block {
 public:
  explicit Block(const BlockContext& block)
      : block_(block),
        args_(block.call.args),
        kernels_(block.call.kernels),
        shape_(block.unit.shape),
        scratch_(block.scratch) {}

  void run() const {
    find_seen_keys(block_.unit.keys);
    for_each_head([&](const BlockHead& head) {
      begin_softmax(head);
      load_queries(head);
    });
    begin_biases();
    attend_to(scratch_.sinks);
    attend_to(scratch_.windows);
    if (!is_last_split()) return;
    if (block_.unit.splits > 1) find_seen_keys({0, block_.sequence.keys});
    for_each_head([&](const BlockHead& head) {
      merge_splits(head);
      find_weights(head);
      add_shaw_values(head);
      store_results(head);
    });
  }

 private:
  template <class Work>
  void for_each_head(const Work& work) const {
    for (std::int64_t head = 0; head < block_.unit.kv_heads; ++head)
      work(BlockHead{.of = block_, .index = head});
  }

  // Applies the mask: finds each row's sinks and window within `keys`.
  void find_seen_keys(const KeyRun& keys) const {
    std::fill_n(scratch_.sinks, shape_.rows(), KeyRun{});
    std::fill_n(scratch_.windows, shape_.rows(), KeyRun{});
    const BlockHead any{.of = block_};
    any.for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
      const SeenKeys seen =
          seen_keys(args_.options.mask, block_.sequence, block_.unit.first_query + query);
      scratch_.sinks[row] = common(seen.sinks, keys);
      scratch_.windows[row] = common(seen.window, keys);
    });
  }

  void begin_softmax(const BlockHead& head) const {
    const kernels::SoftmaxState state = head.state();
    const std::int64_t rows = shape_.rows();
    std::fill_n(state.max, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(state.sum, rows, 0.0F);
    std::fill_n(state.sums_of_values, rows * padded_features(block_.features()), 0.0F);
    if (state.sums_of_weights == nullptr) return;
    std::fill_n(state.sums_of_weights, rows * kernels::sums_of_weights_size(state.places), 0.0F);
  }

  // Rotates and scales the queries.
  void load_queries(const BlockHead& head) const {
    const bool streamed = shape_.path == KeyPath::streamed;
    const auto load = of_dtype(kernels_.types, args_.q.dtype).load_queries;
    head.for_each_chunk([&](const RowChunk& chunk) {
      for (std::int64_t i = 0; i < chunk.count; ++i) {
        const std::int64_t query = shape_.query_of(chunk.first + i);
        const std::int64_t query_head =
            head.first_query_head() + shape_.head_of(chunk.run, chunk.first + i);
        scratch_.queries[i] =
            head_at(args_.q, block_.sequence.batch, block_.query_token(query), query_head);
        scratch_.scales[i] = scale_of(query);
      }
      const std::int64_t row = chunk.run * shape_.run_stride() + chunk.first;
      const std::int64_t token = block_.query_token(shape_.query_of(chunk.first));
      const std::int64_t stride = padded_features(block_.head_dim());
      kernels::QueriesJob job{
          .heads = scratch_.queries,
          .rows = chunk.count,
          .head_dim = block_.head_dim(),
          .rotation = turn(args_.options.encoding.q_rotations, block_.sequence.batch, token),
          .scales = scratch_.scales,
          .loaded = head.loaded() + (streamed ? row * stride : 0),
          .packed = streamed ? nullptr : scratch_.packed_queries,
          .first = row};
      if (shape_.queries == 1) job.rotation.row_stride = 0;
      const bool done = score_shaw_keys(head, chunk, job);
      if (!done || job.rotation.order != kernels::PairOrder::none) load(job);
    });
  }

  [[nodiscard]] float scale_of(std::int64_t query) const {
    const QueryTemperature& temperature = args_.options.q_temperature;
    const double factor = std::holds_alternative<NoTemperature>(temperature)
                              ? 1
                              : query_factor(temperature, block_.query_position(query));
    return static_cast<float>(args_.options.scale * factor * std::numbers::log2e);
  }

  void begin_biases() const {
    const QueryBlock& unit = block_.unit;
    block_.biases.begin({.sequence = block_.sequence,
                         .mask = args_.options.mask,
                         .keys = common(unit.keys, {0, block_.sequence.keys}),
                         .first_query = unit.first_query,
                         .queries = shape_.queries,
                         .first_head = unit.first_kv_head * shape_.group,
                         .heads = unit.kv_heads * shape_.group});
  }

  // Attends to each row's sinks or window, as given by `runs`.
  void attend_to(const KeyRun* runs) const {
    const KeyRun all = all_keys(runs);
    for_each_tile(all, [&](const KeyRun& tile) {
      for_each_head([&](const BlockHead& head) {
        set_limits(head, runs);
        if (shape_.path == KeyPath::streamed) {
          stream(head, tile, all.end);
        } else {
          pack_keys(head, tile);
          pack_values(head, tile);
          accumulate(head, tile, all.end);
        }
      });
    });
  }

  [[nodiscard]] KeyRun all_keys(const KeyRun* runs) const {
    KeyRun all{.begin = std::numeric_limits<std::int64_t>::max(), .end = 0};
    for (std::int64_t row = 0; row < shape_.rows(); ++row) {
      if (runs[row].empty()) continue;
      all.begin = std::min(all.begin, runs[row].begin);
      all.end = std::max(all.end, runs[row].end);
    }
    return all;
  }

  template <class Visit>
  static void for_each_tile(const KeyRun& keys, const Visit& visit) {
    for (std::int64_t first = keys.begin / keys_of_tile * keys_of_tile; first < keys.end;
         first += keys_of_tile) {
      visit(KeyRun{first, std::min(first + keys_of_tile, keys.end)});
    }
  }

  // Sets each row's keys and bias table.
  void set_limits(const BlockHead& head, const KeyRun* runs) const {
    for (std::int64_t row = 0; row < shape_.rows(); ++row)
      scratch_.limits[row] = {.first_key = runs[row].begin,
                              .end_key = runs[row].end,
                              .bias = nullptr,
                              .bias_of_key_0 = 0,
                              .bias_count = 0};
    set_shaw_limits(head);
    if (scratch_.changes != nullptr) set_changes(head);
    if (!block_.call.bias) return;
    head.for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t query_head) {
      if (block_.biases.has_rows(block_.query_position(query))) return;
      block_.biases.set_table(scratch_.limits[row], query_head, block_.distance_of_key_0(query));
      put_bias_behind_cap(block_, row);
    });
  }

  // If any query needs bias rows, the last query does: it has the highest position.
  [[nodiscard]] bool has_bias_rows() const {
    return block_.biases.has_rows(block_.query_position(shape_.queries - 1));
  }

  // Makes the bias of the rows that have no table.
  void make_bias_rows(const BlockHead& head, KeyRun rows, const KeyRun& tile) const {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t run = row / shape_.run_stride();
      const std::int64_t index = row % shape_.run_stride();
      if (index >= shape_.rows_of_run()) continue;
      const std::int64_t query = shape_.query_of(index);
      if (!block_.biases.has_rows(block_.query_position(query))) continue;
      block_.biases.make_row(scratch_.limits[row],
                             {.row = row - rows.begin,
                              .query = query,
                              .head = head.first_query_head() + shape_.head_of(run, index),
                              .key_0 = block_.distance_of_key_0(query),
                              .keys = tile});
      put_bias_behind_cap(block_, row);
    }
  }

  [[nodiscard]] SequenceKeys keys_of(const BlockHead& head) const {
    return {args_, block_.sequence, block_.unit.sequence, head.kv_head()};
  }

  [[nodiscard]] kernels::HeadRotation turn_of_keys(const KeyRun& tile) const {
    const bool paged = args_.table != nullptr;
    return turn(args_.options.encoding.k_rotations,
                paged ? block_.unit.sequence : block_.sequence.batch,
                block_.sequence.first_key + tile.begin);
  }

  // For few rows: reads the keys of a tile in place. The last tile ends at `end`.
  void stream(const BlockHead& head, const KeyRun& tile, std::int64_t end) const {
    if (has_bias_rows()) make_bias_rows(head, {0, shape_.rows()}, tile);
    const SequenceKeys keys = keys_of(head);
    const KeyRun known{tile.begin, std::min(tile.end + kernels::keys_fetched_ahead, end)};
    const auto blocks = [&](const StoredHeads& view, const void** to) {
      kernels::HeadBlocks found = find_blocks(keys, view, known, to);
      found.fetching = block_.call.fetching;
      return found;
    };
    kernels_for(kernels_, args_.k)
        .stream({.queries = head.loaded(),
                 .limits = scratch_.limits,
                 .rows = shape_.rows(),
                 .head_dim = block_.head_dim(),
                 .features = block_.features(),
                 .keys = blocks(args_.k, scratch_.keys),
                 .rotation = turn_of_keys(tile),
                 .values = blocks(args_.v, scratch_.values),
                 .first_key = tile.begin,
                 .count = tile.end - tile.begin,
                 .state = head.state(),
                 .scratch = scratch_.of_kernels,
                 .key_scales = find_scales(keys, args_.k, tile, scratch_.key_scales),
                 .value_scales = find_scales(keys, args_.v, tile, scratch_.value_scales),
                 .changes = changes_from(block_, 0)});
  }

  void pack_keys(const BlockHead& head, const KeyRun& tile) const {
    find_heads(keys_of(head), args_.k, tile, scratch_.keys);
    kernels_for(kernels_, args_.k)
        .pack_keys({.heads = scratch_.keys,
                    .first = 0,
                    .count = tile.end - tile.begin,
                    .features = block_.head_dim(),
                    .rotation = turn_of_keys(tile),
                    .packed = scratch_.packed_keys,
                    .scratch = scratch_.of_kernels,
                    .scales = find_scales(keys_of(head), args_.k, tile, scratch_.key_scales)});
  }

  void pack_values(const BlockHead& head, const KeyRun& tile) const {
    find_heads(keys_of(head), args_.v, tile, scratch_.values);
    kernels_for(kernels_, args_.v)
        .pack_values({.heads = scratch_.values,
                      .first = 0,
                      .count = tile.end - tile.begin,
                      .features = block_.features(),
                      .rotation = {},
                      .packed = scratch_.packed_values,
                      .scratch = scratch_.of_kernels,
                      .scales = find_scales(keys_of(head), args_.v, tile, scratch_.value_scales)});
  }

  // For many rows: multiplies a packed tile while prefetching the next keys, up to `end`.
  void accumulate(const BlockHead& head, const KeyRun& tile, std::int64_t end) const {
    const std::int64_t all = shape_.rows();
    const kernels::NextHeads next = next_heads(
        keys_of(head), {tile.end, std::min(tile.end + keys_of_tile, end)}, scratch_.next);
    const bool by_rows = has_bias_rows();
    const std::int64_t step = by_rows ? kernels::rows_of_group : all;
    for (std::int64_t row = 0; row < all; row += step) {
      const std::int64_t rows = std::min(step, all - row);
      if (by_rows) make_bias_rows(head, {row, row + rows}, tile);
      const std::int64_t first_next = next.count * row / all;
      const std::int64_t end_next = next.count * (row + rows) / all;
      kernels_.accumulate({.queries = scratch_.packed_queries,
                           .first = row,
                           .limits = scratch_.limits + row,
                           .rows = rows,
                           .head_dim = block_.head_dim(),
                           .features = block_.features(),
                           .keys = scratch_.packed_keys,
                           .values = scratch_.packed_values,
                           .first_key = tile.begin,
                           .count = tile.end - tile.begin,
                           .state = head.from_row(head.state(), row),
                           .scratch = scratch_.of_kernels,
                           .next = {.heads = next.heads + first_next,
                                    .count = end_next - first_next,
                                    .bytes = next.bytes},
                           .changes = changes_from(block_, row)});
    }
  }

  // True if all splits of the block are done. Then the writes of other threads are visible.
  [[nodiscard]] bool is_last_split() const {
    const QueryBlock& unit = block_.unit;
    if (unit.splits == 1) return true;
    std::atomic_ref<std::int32_t> finished(block_.shared.partial.finished[unit.partial_block]);
    return finished.fetch_add(1, std::memory_order_acq_rel) + 1 == unit.splits;
  }

  // Merges into the first split. The order never depends on which split finished last.
  void merge_splits(const BlockHead& head) const {
    for (std::int64_t split = 1; split < block_.unit.splits; ++split) {
      kernels_.merge({.into = head.state(0),
                      .from = head.state(split),
                      .rows = shape_.rows(),
                      .features = block_.features()});
    }
  }

  // Computes the weights in a second pass over the keys, when each row's maximum and sum are known.
  void find_weights(const BlockHead& head) const {
    if (args_.weights() == nullptr) return;
    clear_weights(head);
    for (const KeyRun* runs : {scratch_.sinks, scratch_.windows}) {
      set_limits(head, runs);
      for_each_tile(all_keys(runs), [&](const KeyRun& tile) {
        pack_keys(head, tile);
        for (std::int64_t row = 0; row < shape_.rows(); row += kernels::rows_of_group) {
          if (has_bias_rows()) make_bias_rows(head, {row, row + kernels::rows_of_group}, tile);
          store_weights(head, row, tile);
        }
      });
    }
  }

  const BlockContext& block_;
  const AttendCall& args_;
  const kernels::AttendKernels& kernels_;
  const BlockShape& shape_;
  const Scratch& scratch_;
};

}  // namespace

void attend_block(const BlockContext& block) { Block(block).run(); }

}  // namespace rotary
