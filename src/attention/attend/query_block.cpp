// SPDX-License-Identifier: Apache-2.0
// A block goes through its keys tile by tile: first sinks, then the window. Each row keeps a
// running maximum, sum and sum of values (SoftmaxState), so no full row of scores ever exists. All
// kv heads process a tile before the next one: where they are adjacent, their tile is one piece of
// memory.
#include "attention/attend/query_block.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>

#include "attention/attend/bias/shaw_block.hpp"
#include "attention/attend/block_rows.hpp"
#include "attention/attend/key_blocks.hpp"
#include "attention/attend/key_splits.hpp"
#include "attention/attend/turn_heads.hpp"
#include "attention/attend/weights_of_block.hpp"

namespace rotary {
namespace {

using kernels::keys_of_tile;
using kernels::padded_features;

// Processes one block.
class Block : BlockRows {
 public:
  Block(const Attending& attending, const QueryBlock& block, const Scratch& scratch,
        BiasTables& tables)
      : BlockRows(attending, block, scratch),
        bias_(attending.bias),
        tables_(tables),
        vectors_(attending, block, scratch),
        weights_(attending, block, scratch) {}

  void run() {
    find_limits(block_.keys);
    for_each_kv_head([&] {
      begin_softmax();
      load_queries();
    });
    if (bias_ != nullptr) tables_.begin(biased_block());
    attend(scratch_.sinks);
    attend(scratch_.windows);
    if (!is_last_split()) return;
    if (block_.splits > 1) find_limits({0, sequence_.keys});
    for_each_kv_head([&] {
      merge_splits();
      find_weights();
      vectors_.add_values();
      store();
    });
  }

 private:
  // Calls work() once per kv head of the block, with that head as the current one.
  template <class Work>
  void for_each_kv_head(const Work& work) {
    for (std::int64_t head = 0; head < block_.kv_heads; ++head) {
      enter_all(head);
      work();
    }
    enter_all(0);
  }
  void enter_all(std::int64_t head) {
    enter(head);
    vectors_.enter(head);
    weights_.enter(head);
  }

  [[nodiscard]] float* loaded() const {
    const bool streamed = shape_.path == KeyPath::streamed;
    return scratch_.loaded + (streamed ? row_of_head() * padded_features(head_dim()) : 0);
  }

  // Limits each row to the keys it sees within `keys`.
  void find_limits(const KeyRun& keys) {
    std::fill_n(scratch_.sinks, shape_.rows(), KeyRun{});
    std::fill_n(scratch_.windows, shape_.rows(), KeyRun{});
    for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
      const SeenKeys seen = seen_keys(call_.options.mask, sequence_, block_.first_query + query);
      scratch_.sinks[row] = common(seen.sinks, keys);
      scratch_.windows[row] = common(seen.window, keys);
    });
  }

  void begin_softmax() {
    const kernels::SoftmaxState state = this->state();
    std::fill_n(state.max, shape_.rows(), -std::numeric_limits<float>::infinity());
    std::fill_n(state.sum, shape_.rows(), 0.0F);
    std::fill_n(state.sums_of_values, shape_.rows() * padded_features(features()), 0.0F);
    if (state.sums_of_weights == nullptr) return;
    const std::int64_t weights = kernels::sums_of_weights_size(state.places);
    std::fill_n(state.sums_of_weights, shape_.rows() * weights, 0.0F);
  }

  [[nodiscard]] float scale_of(std::int64_t query) const {
    const QueryTemperature& temperature = call_.options.q_temperature;
    const double factor = std::holds_alternative<NoTemperature>(temperature)
                              ? 1
                              : query_factor(temperature, query_position(query));
    return static_cast<float>(call_.options.scale * factor * std::numbers::log2e);
  }

  void load_queries() {
    const auto load = of_dtype(*table_.attend, call_.q.dtype).load_queries;
    for (std::int64_t run = 0; run < shape_.runs(); ++run) {
      for (std::int64_t first = 0; first < shape_.rows_of_run(); first += rows_of_load) {
        const std::int64_t rows = std::min(rows_of_load, shape_.rows_of_run() - first);
        for (std::int64_t i = 0; i < rows; ++i) {
          const std::int64_t query = shape_.query_of(first + i);
          const std::int64_t head = first_head() + shape_.head_of(run, first + i);
          scratch_.queries[i] = head_at(call_.q, sequence_.batch, query_token(query), head);
          scratch_.scales[i] = scale_of(query);
        }
        const bool streamed = shape_.path == KeyPath::streamed;
        const std::int64_t row = run * shape_.run_stride() + first;
        kernels::QueriesJob job{
            .heads = scratch_.queries,
            .rows = rows,
            .head_dim = head_dim(),
            .rotation = turn(call_.options.encoding.q_rotations, sequence_.batch,
                             query_token(shape_.query_of(first))),
            .scales = scratch_.scales,
            .loaded = loaded() + (streamed ? row * padded_features(head_dim()) : 0),
            .packed = streamed ? nullptr : scratch_.packed_queries,
            .first = row};
        if (shape_.queries == 1) job.rotation.row_stride = 0;
        const bool loaded = vectors_.score(job, run, first);
        if (!loaded || job.rotation.order != kernels::PairOrder::none) load(job);
      }
    }
  }

  // The smallest run that holds the keys of all rows.
  [[nodiscard]] KeyRun all_keys(const KeyRun* runs) const {
    KeyRun all{.begin = std::numeric_limits<std::int64_t>::max(), .end = 0};
    for (std::int64_t row = 0; row < shape_.rows(); ++row) {
      if (runs[row].empty()) continue;
      all.begin = std::min(all.begin, runs[row].begin);
      all.end = std::max(all.end, runs[row].end);
    }
    return all;
  }

  [[nodiscard]] BiasedBlock biased_block() const {
    return {.sequence = sequence_,
            .mask = call_.options.mask,
            .keys = common(block_.keys, {0, sequence_.keys}),
            .first_query = block_.first_query,
            .queries = shape_.queries,
            .first_head = first_head(),
            .heads = block_.kv_heads * shape_.group};
  }
  // Index of a query head of the current kv head within the heads of biased_block().
  [[nodiscard]] std::int64_t biased_head(std::int64_t head) const {
    return head_ * shape_.group + head;
  }

  void set_limits(const KeyRun* runs) {
    for (std::int64_t row = 0; row < shape_.rows(); ++row)
      scratch_.limits[row] = {.first_key = runs[row].begin,
                              .end_key = runs[row].end,
                              .bias = nullptr,
                              .bias_of_key_0 = 0,
                              .bias_count = 0};
    vectors_.set_limits();
    if (bias_ == nullptr) return;
    for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t head) {
      if (!tables_.has_rows(query))
        tables_.set_table(scratch_.limits[row], query, biased_head(head));
    });
  }

  // If any query needs rows, the last one does: it is the farthest along.
  [[nodiscard]] bool has_bias_rows() const { return tables_.has_rows(shape_.queries - 1); }

  // Makes the bias of the rows that no table serves.
  void make_bias_rows(std::int64_t first_row, std::int64_t rows, const KeyRun& keys) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t run = (first_row + i) / shape_.run_stride();
      const std::int64_t index = (first_row + i) % shape_.run_stride();
      if (index >= shape_.rows_of_run()) continue;
      const std::int64_t query = shape_.query_of(index);
      if (!tables_.has_rows(query)) continue;
      const std::int64_t head = biased_head(shape_.head_of(run, index));
      tables_.make_row(scratch_.limits[first_row + i],
                       {.row = i, .query = query, .head = head, .keys = keys});
    }
  }

  // Calls visit(tile) for each tile of the keys.
  template <class Visit>
  static void for_each_tile(const KeyRun& keys, const Visit& visit) {
    for (std::int64_t first = keys.begin / keys_of_tile * keys_of_tile; first < keys.end;
         first += keys_of_tile) {
      visit(KeyRun{first, std::min(first + keys_of_tile, keys.end)});
    }
  }

  void attend(const KeyRun* runs) {
    const KeyRun all = all_keys(runs);
    for_each_tile(all, [&](const KeyRun& tile) {
      for_each_kv_head([&] {
        set_limits(runs);
        if (shape_.path == KeyPath::streamed) {
          if (has_bias_rows()) make_bias_rows(0, shape_.rows(), tile);
          stream(tile, all.end);
        } else {
          pack_keys(tile);
          pack_values(tile);
          next_ = next_heads(keys_of_head(), {tile.end, std::min(tile.end + keys_of_tile, all.end)},
                             scratch_.next);
          accumulate(tile);
        }
      });
    });
  }

  void find_weights() {
    if (call_.weights() == nullptr) return;
    weights_.clear();
    for (const KeyRun* runs : {scratch_.sinks, scratch_.windows}) {
      set_limits(runs);
      for_each_tile(all_keys(runs), [&](const KeyRun& tile) {
        pack_keys(tile);
        for (std::int64_t row = 0; row < shape_.rows(); row += kernels::rows_of_group) {
          if (has_bias_rows()) make_bias_rows(row, kernels::rows_of_group, tile);
          weights_.store(row, tile);
        }
      });
    }
  }

  [[nodiscard]] kernels::HeadRotation turn_of_keys(std::int64_t first) const {
    const bool paged = call_.table != nullptr;
    return turn(call_.options.encoding.k_rotations, paged ? block_.sequence : sequence_.batch,
                sequence_.first_key + first);
  }

  [[nodiscard]] SequenceKeys keys_of_head() const {
    return {call_, sequence_, block_.sequence, kv_head()};
  }

  // Streams a tile; the keys end at `end`.
  void stream(const KeyRun& tile, std::int64_t end) {
    const SequenceKeys keys = keys_of_head();
    const KeyRun known{tile.begin, std::min(tile.end + kernels::keys_fetched_ahead, end)};
    of_dtype(*table_.attend, call_.k.dtype)
        .stream({.queries = loaded(),
                 .limits = scratch_.limits,
                 .rows = shape_.rows(),
                 .head_dim = head_dim(),
                 .features = features(),
                 .keys = find_blocks(keys, call_.k, known, scratch_.keys),
                 .rotation = turn_of_keys(tile.begin),
                 .values = find_blocks(keys, call_.v, known, scratch_.values),
                 .first_key = tile.begin,
                 .count = tile.end - tile.begin,
                 .state = state(),
                 .scratch = scratch_.of_kernels});
  }

  void pack_keys(const KeyRun& tile) {
    find_heads(keys_of_head(), call_.k, tile, scratch_.keys);
    of_dtype(*table_.attend, call_.k.dtype)
        .pack_keys({.heads = scratch_.keys,
                    .first = 0,
                    .count = tile.end - tile.begin,
                    .features = head_dim(),
                    .rotation = turn_of_keys(tile.begin),
                    .packed = scratch_.packed_keys,
                    .scratch = scratch_.of_kernels});
  }

  void pack_values(const KeyRun& tile) {
    find_heads(keys_of_head(), call_.v, tile, scratch_.values);
    of_dtype(*table_.attend, call_.v.dtype)
        .pack_values({.heads = scratch_.values,
                      .first = 0,
                      .count = tile.end - tile.begin,
                      .features = features(),
                      .rotation = {},
                      .packed = scratch_.packed_values,
                      .scratch = scratch_.of_kernels});
  }

  // The part of next_ that rows [row, row + rows) prefetch.
  [[nodiscard]] kernels::NextHeads share_of_next(std::int64_t row, std::int64_t rows) const {
    const std::int64_t begin = next_.count * row / shape_.rows();
    const std::int64_t end = next_.count * (row + rows) / shape_.rows();
    return {.heads = next_.heads + begin, .count = end - begin, .bytes = next_.bytes};
  }

  void accumulate(const KeyRun& tile) {
    const bool by_rows = has_bias_rows();
    const std::int64_t step = by_rows ? kernels::rows_of_group : shape_.rows();
    for (std::int64_t row = 0; row < shape_.rows(); row += step) {
      const std::int64_t rows = std::min(step, shape_.rows() - row);
      if (by_rows) make_bias_rows(row, rows, tile);
      accumulate_rows(row, rows, tile);
    }
  }

  void accumulate_rows(std::int64_t row, std::int64_t rows, const KeyRun& tile) {
    table_.attend->accumulate({.queries = scratch_.packed_queries,
                               .first = row,
                               .limits = scratch_.limits + row,
                               .rows = rows,
                               .head_dim = head_dim(),
                               .features = features(),
                               .keys = scratch_.packed_keys,
                               .values = scratch_.packed_values,
                               .first_key = tile.begin,
                               .count = tile.end - tile.begin,
                               .state = from_row(state(), row),
                               .scratch = scratch_.of_kernels,
                               .next = share_of_next(row, rows)});
  }

  // Whether all splits of the block are done; if so, what other threads wrote is visible.
  [[nodiscard]] bool is_last_split() const {
    if (block_.splits == 1) return true;
    std::atomic_ref<std::int32_t> finished(partial_.finished[block_.partial_block]);
    return finished.fetch_add(1, std::memory_order_acq_rel) + 1 == block_.splits;
  }

  // Merges into the first split, always in the same order, whichever finished last.
  void merge_splits() {
    for (std::int64_t split = 1; split < block_.splits; ++split) {
      table_.attend->merge({.into = state_of(0),
                            .from = state_of(split),
                            .rows = shape_.rows(),
                            .features = features()});
    }
  }

  void store() {
    const auto finish = of_dtype(*table_.attend, call_.out.dtype).finish;
    const kernels::SoftmaxState state = state_of(0);
    for (std::int64_t run = 0; run < shape_.runs(); ++run) {
      for (std::int64_t first = 0; first < shape_.rows_of_run(); first += rows_of_load) {
        const std::int64_t rows = std::min(rows_of_load, shape_.rows_of_run() - first);
        for (std::int64_t i = 0; i < rows; ++i) {
          const std::int64_t query = query_token(shape_.query_of(first + i));
          const std::int64_t head = first_head() + shape_.head_of(run, first + i);
          scratch_.results[i] = head_at(call_.out, sequence_.batch, query, head);
        }
        const std::int64_t row = run * shape_.run_stride() + first;
        finish({.state = from_row(state, row),
                .rows = rows,
                .features = features(),
                .heads = scratch_.results});
      }
    }
    store_log_sum_exp();
  }

  void store_log_sum_exp() const {
    if (!call_.options.log_sum_exp) return;
    const ScoresView& view = *call_.options.log_sum_exp;
    const kernels::SoftmaxState state = state_of(0);
    for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t head) {
      const std::int64_t element = sequence_.batch * view.strides.batch +
                                   (first_head() + head) * view.strides.head +
                                   query_token(query) * view.strides.query;
      const double sum = state.sum[row];
      const double constant =
          bias_ == nullptr ? 0 : bias_->row_constant(first_head() + head, query_position(query));
      const double value = sum == 0
                               ? -std::numeric_limits<double>::infinity()
                               : (state.max[row] + std::log2(sum)) * std::numbers::ln2 + constant;
      static_cast<float*>(view.data)[element] = static_cast<float>(value);
    });
  }

  const ScoreBias* bias_;
  BiasTables& tables_;
  ShawBlock vectors_;
  WeightsOfBlock weights_;
  kernels::NextHeads next_;
};

}  // namespace

void attend_block(const Attending& attending, const QueryBlock& block, const Scratch& scratch,
                  BiasTables& tables) {
  Block(attending, block, scratch, tables).run();
}

}  // namespace rotary
