// SPDX-License-Identifier: Apache-2.0
// A block meets its keys a tile at a time: sinks first, then the window. Each row keeps its running
// maximum, sum and sum of values (SoftmaxState), so no row of scores ever exists. Kv heads take
// turns at each tile: where they lie side by side a tile of all of them is one piece of memory.
#include "attention/query_block.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>

#include "attention/key_blocks.hpp"
#include "attention/key_splits.hpp"
#include "attention/turn_heads.hpp"

namespace rotary {
namespace {

using kernels::keys_of_tile;
using kernels::padded_features;

// The work on one block.
class Block {
 public:
  Block(const Attending& attending, const QueryBlock& block, const Scratch& scratch)
      : call_(attending.call),
        table_(attending.kernels),
        bias_(attending.bias),
        block_(block),
        shape_(block.shape),
        sequence_(attending.call.sequence(block.sequence)),
        scratch_(scratch),
        partial_(attending.partial) {}

  void run() {
    find_limits();
    for_each_kv_head([&] {
      begin_softmax();
      load_queries();
    });
    make_distance_tables();
    attend(scratch_.sinks);
    attend(scratch_.windows);
    if (!is_last_split()) return;
    for_each_kv_head([&] {
      merge_splits();
      store();
    });
  }

 private:
  [[nodiscard]] std::int64_t head_dim() const { return call_.q.extents.features; }
  [[nodiscard]] std::int64_t features() const { return call_.v.extents.features; }
  [[nodiscard]] std::int64_t query_position(std::int64_t query) const {
    return sequence_.query_position + block_.first_query + query;
  }
  [[nodiscard]] std::int64_t kv_head() const { return block_.first_kv_head + head_; }
  [[nodiscard]] std::int64_t first_head() const { return kv_head() * shape_.group; }

  // What follows is about one kv head of the block at a time.
  template <class Work>
  void for_each_kv_head(const Work& work) {
    for (head_ = 0; head_ < block_.kv_heads; ++head_) work();
    head_ = 0;
  }
  [[nodiscard]] std::int64_t row_of_head() const { return head_ * shape_.rows(); }

  // Of the current head in a split of the block.
  [[nodiscard]] kernels::SoftmaxState state_of(std::int64_t split) const {
    const bool alone = block_.splits == 1;
    const kernels::SoftmaxState& all = alone ? scratch_.state : partial_.states;
    const std::int64_t first = alone ? 0 : block_.first_partial_row + split * block_.rows();
    return from_row(all, first + row_of_head());
  }
  [[nodiscard]] kernels::SoftmaxState state() const { return state_of(block_.split); }
  [[nodiscard]] kernels::SoftmaxState from_row(const kernels::SoftmaxState& all,
                                               std::int64_t row) const {
    return {.max = all.max + row,
            .sum = all.sum + row,
            .sums_of_values = all.sums_of_values + row * padded_features(features())};
  }
  [[nodiscard]] float* loaded() const {
    const bool streamed = shape_.path == KeyPath::streamed;
    return scratch_.loaded + (streamed ? row_of_head() * padded_features(head_dim()) : 0);
  }

  // visit(row, query, head), both counted from 0 in the block.
  template <class Visit>
  void for_each_row(const Visit& visit) const {
    for (std::int64_t run = 0; run < shape_.runs(); ++run) {
      for (std::int64_t i = 0; i < shape_.rows_of_run(); ++i)
        visit(run * shape_.run_stride() + i, shape_.query_of(i), shape_.head_of(run, i));
    }
  }

  void find_limits() {
    std::fill_n(scratch_.sinks, shape_.rows(), KeyRun{});
    std::fill_n(scratch_.windows, shape_.rows(), KeyRun{});
    for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t) {
      const SeenKeys seen = seen_keys(call_.options.mask, sequence_, block_.first_query + query);
      scratch_.sinks[row] = common(seen.sinks, block_.keys);
      scratch_.windows[row] = common(seen.window, block_.keys);
    });
  }

  void begin_softmax() {
    const kernels::SoftmaxState state = this->state();
    std::fill_n(state.max, shape_.rows(), -std::numeric_limits<float>::infinity());
    std::fill_n(state.sum, shape_.rows(), 0.0F);
    std::fill_n(state.sums_of_values, shape_.rows() * padded_features(features()), 0.0F);
  }

  [[nodiscard]] float scale_of(std::int64_t query) const {
    const QueryTemperature& temperature = call_.options.q_temperature;
    const double factor = std::holds_alternative<NoTemperature>(temperature)
                              ? 1
                              : query_factor(temperature, query_position(query));
    return static_cast<float>(call_.options.scale * factor * std::numbers::log2e);
  }

  [[nodiscard]] std::int64_t query_token(std::int64_t query) const {
    return sequence_.first_query + block_.first_query + query;
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
        load(job);
      }
    }
  }

  [[nodiscard]] bool has_distance_tables() const {
    return bias_ != nullptr && bias_->is_of_distances();
  }

  // The keys that any row sees.
  [[nodiscard]] KeyRun all_keys(const KeyRun* runs) const {
    KeyRun all{.begin = std::numeric_limits<std::int64_t>::max(), .end = 0};
    for (std::int64_t row = 0; row < shape_.rows(); ++row) {
      if (runs[row].empty()) continue;
      all.begin = std::min(all.begin, runs[row].begin);
      all.end = std::max(all.end, runs[row].end);
    }
    return all;
  }

  // Of all rows of the block to all keys that any of them sees.
  void make_distance_tables() {
    if (!has_distance_tables()) return;
    const KeyRun sinks = all_keys(scratch_.sinks);
    const KeyRun windows = all_keys(scratch_.windows);
    const KeyRun keys = hull(sinks, windows);
    if (keys.empty()) return;
    const std::int64_t key = sequence_.key_position;
    distances_ = {.first = key + keys.begin - query_position(shape_.queries - 1),
                  .last = key + keys.end - 1 - query_position(0)};
    if (call_.options.mask.order == AttentionOrder::causal)
      distances_.last = std::min<std::int64_t>(distances_.last, 0);
    distances_ = bias_->distinct(distances_);
    bias_stride_ = distances_.count() + 2 * bias_margin;
    bias_->fill(DistanceTables{.tables = scratch_.bias,
                               .stride = bias_stride_,
                               .first_head = first_head(),
                               .heads = block_.kv_heads * shape_.group,
                               .range = distances_,
                               .margin = bias_margin});
  }

  void set_limits(const KeyRun* runs) {
    for (std::int64_t row = 0; row < shape_.rows(); ++row)
      scratch_.limits[row] = {.first_key = runs[row].begin,
                              .end_key = runs[row].end,
                              .bias = nullptr,
                              .bias_of_key_0 = 0,
                              .bias_count = 0};
    if (!has_distance_tables()) return;
    for_each_row([&](std::int64_t row, std::int64_t query, std::int64_t head) {
      kernels::RowLimits& limits = scratch_.limits[row];
      limits.bias = scratch_.bias + (head_ * shape_.group + head) * bias_stride_;
      limits.bias_of_key_0 =
          bias_margin + sequence_.key_position - query_position(query) - distances_.first;
      limits.bias_count = bias_stride_;
    });
  }

  // Where no table serves all tiles: that of the keys [first, first + count) for each row.
  void make_row_tables(std::int64_t first, std::int64_t count) {
    if (bias_ == nullptr || has_distance_tables()) return;
    const std::int64_t stride = keys_of_tile + 2 * bias_margin;
    for (std::int64_t query = 0; query < shape_.queries; ++query) {
      const bool by_head = shape_.queries > 1;
      float* const table = scratch_.bias + (by_head ? query : 0) * stride;
      bias_->fill(RowTables{.values = table + bias_margin,
                            .stride = by_head ? shape_.run_stride() * stride : stride,
                            .first_head = first_head(),
                            .heads = shape_.group,
                            .query = query_position(query),
                            .first_key = sequence_.key_position + first,
                            .keys = count});
    }
    for_each_row([&](std::int64_t row, std::int64_t, std::int64_t) {
      kernels::RowLimits& limits = scratch_.limits[row];
      limits.bias = scratch_.bias + row * stride;
      limits.bias_of_key_0 = bias_margin - first;
      limits.bias_count = stride;
    });
  }

  void attend(const KeyRun* runs) {
    const KeyRun all = all_keys(runs);
    if (all.empty()) return;
    for (std::int64_t first = all.begin / keys_of_tile * keys_of_tile; first < all.end;
         first += keys_of_tile) {
      const std::int64_t count = std::min(keys_of_tile, all.end - first);
      for_each_kv_head([&] {
        set_limits(runs);
        make_row_tables(first, count);
        if (shape_.path == KeyPath::streamed) {
          stream(first, count, all.end);
        } else {
          accumulate(first, count);
        }
      });
    }
  }

  [[nodiscard]] kernels::HeadRotation turn_of_keys(std::int64_t first) const {
    const bool paged = call_.table != nullptr;
    return turn(call_.options.encoding.k_rotations, paged ? block_.sequence : sequence_.batch,
                sequence_.first_key + first);
  }

  // Keys [first, first + count) of those that end at `end`.
  void stream(std::int64_t first, std::int64_t count, std::int64_t end) {
    const SequenceKeys keys{call_, sequence_, block_.sequence, kv_head()};
    const KeyRun known{first, std::min(first + count + kernels::keys_fetched_ahead, end)};
    of_dtype(*table_.attend, call_.k.dtype)
        .stream({.queries = loaded(),
                 .limits = scratch_.limits,
                 .rows = shape_.rows(),
                 .head_dim = head_dim(),
                 .features = features(),
                 .keys = find_blocks(keys, call_.k, known, scratch_.keys),
                 .rotation = turn_of_keys(first),
                 .values = find_blocks(keys, call_.v, known, scratch_.values),
                 .first_key = first,
                 .count = count,
                 .state = state(),
                 .scratch = scratch_.of_kernels});
  }

  void accumulate(std::int64_t first, std::int64_t count) {
    const SequenceKeys keys{call_, sequence_, block_.sequence, kv_head()};
    find_heads(keys, call_.k, {first, first + count}, scratch_.keys);
    find_heads(keys, call_.v, {first, first + count}, scratch_.values);
    of_dtype(*table_.attend, call_.k.dtype)
        .pack_keys({.heads = scratch_.keys,
                    .first = 0,
                    .count = count,
                    .features = head_dim(),
                    .rotation = turn_of_keys(first),
                    .packed = scratch_.packed_keys,
                    .scratch = scratch_.of_kernels});
    of_dtype(*table_.attend, call_.v.dtype)
        .pack_values({.heads = scratch_.values,
                      .first = 0,
                      .count = count,
                      .features = features(),
                      .rotation = {},
                      .packed = scratch_.packed_values,
                      .scratch = scratch_.of_kernels});
    table_.attend->accumulate({.queries = scratch_.packed_queries,
                               .limits = scratch_.limits,
                               .rows = shape_.rows(),
                               .head_dim = head_dim(),
                               .features = features(),
                               .keys = scratch_.packed_keys,
                               .values = scratch_.packed_values,
                               .first_key = first,
                               .count = count,
                               .state = state(),
                               .scratch = scratch_.of_kernels});
  }

  // Whether this block has all that its queries attend to: what other splits wrote is visible then.
  [[nodiscard]] bool is_last_split() const {
    if (block_.splits == 1) return true;
    std::atomic_ref<std::int32_t> finished(partial_.finished[block_.partial_block]);
    return finished.fetch_add(1, std::memory_order_acq_rel) + 1 == block_.splits;
  }

  // Into the first one, in their order, whoever finished last.
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
          scratch_.results[i] =
              const_cast<std::byte*>(head_at(call_.out, sequence_.batch, query, head));
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

  const AttendCall& call_;
  const kernels::KernelTable& table_;
  const ScoreBias* bias_;
  const QueryBlock& block_;
  const BlockShape& shape_;
  const AttentionSequence sequence_;
  const Scratch& scratch_;
  const PartialStates& partial_;
  std::int64_t head_ = 0;  // the current kv head, of those of the block
  Distances distances_;
  std::int64_t bias_stride_ = 0;
};

}  // namespace

void attend_block(const Attending& attending, const QueryBlock& block, const Scratch& scratch) {
  Block(attending, block, scratch).run();
}

}  // namespace rotary
