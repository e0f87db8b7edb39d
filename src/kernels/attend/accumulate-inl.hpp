// SPDX-License-Identifier: Apache-2.0
// Attention of a tile of query rows to packed keys and values: softmax(q k + bias) v with a running
// maximum (Milakov and Gimelshein, arXiv 1805.02867; tiles as in FlashAttention, arXiv 2205.14135).
//
// Both matrix products hold a tile of results in registers: the rows of the group times two vectors
// (of keys for q k, of features for weights times v). Each result is a chain of fused multiply-adds
// in a fixed order (of features for q k, of keys for weights times v). The chain of a score starts
// from the bias, so the bias costs nothing.

#if defined(ROTARY_KERNELS_ACCUMULATE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ACCUMULATE_INL_HPP
#undef ROTARY_KERNELS_ACCUMULATE_INL_HPP
#else
#define ROTARY_KERNELS_ACCUMULATE_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_tiles-inl.hpp"
#include "kernels/attend/changes-inl.hpp"
#include "kernels/attend/softmax-inl.hpp"
#include "kernels/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One tile of keys, and up to group_rows query rows. A `place` is a key's index in the tile.
struct TileOfRows {
  const float* queries;  // [head_dim][group_stride]
  const RowLimits* limits;
  std::int64_t first_key;  // of the tile, counted over all keys
  std::int64_t count;      // keys of the tile
  std::int64_t head_dim;
  std::int64_t features;  // of a value, padded
  const float* keys;      // start of the tile
  const float* values;
  float* sums_of_values;  // of the first row
  float* scores;          // [rows][keys_of_tile]
  float* lanes;           // [rows][lane_multiple]: largest scores, later sums of weights
};

// Prefetches heads a few lines at a time: many at once would delay the computation.
class Fetching {
 public:
  Fetching(const NextHeads& next, std::int64_t steps)
      : next_(next),
        lines_(rounded_up(next.bytes, cache_line) / cache_line),
        of_step_((next.count * lines_ + steps - 1) / steps) {}

  HWY_INLINE void step() {
    const std::int64_t end = std::min(at_ + of_step_, next_.count * lines_);
    for (; at_ < end; ++at_) {
      const auto head = reinterpret_cast<std::uintptr_t>(next_.heads[at_ / lines_]);
      fetch(head + static_cast<std::uintptr_t>(at_ % lines_ * cache_line));
    }
  }

 private:
  const NextHeads& next_;
  std::int64_t lines_;  // per head
  std::int64_t of_step_;
  std::int64_t at_ = 0;
};

// Scores one panel of keys from `place` on. With Vectors == 1 it scores only the panel's first
// vector of keys, because no row sees the others.
template <std::size_t Rows, std::size_t Vectors>
HWY_NOINLINE void score_panel(const TileOfRows& tile, std::int64_t place, bool inside) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[Rows][2];
  HWY_UNROLL(12)
  for (std::size_t r = 0; r < Rows; ++r) {
    const float* const bias = bias_of_panel(tile.limits[r], tile.first_key + place);
    for (std::size_t v = 0; v < Vectors; ++v) sum[r][v] = hn::LoadU(d, bias + lanes_of(v));
  }
  const float* q = tile.queries;
  const float* k = tile.keys + place * tile.head_dim;
  for (std::int64_t f = tile.head_dim; f > 0; --f) {
    hn::Vec<decltype(d)> keys[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) keys[v] = hn::Load(d, k + lanes_of(v));
    HWY_UNROLL(12)
    for (std::size_t r = 0; r < Rows; ++r) {
      auto query = hn::Set(d, q[r]);
      keep_in_register(query);
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[r][v] = hn::MulAdd(query, keys[v], sum[r][v]);
      }
    }
    q += group_stride;
    k += lanes_of(2);
  }
  float* const scores = tile.scores + place;
  if (!inside) {
    const auto masked = hn::Set(d, minus_infinity);
    HWY_UNROLL(12)
    for (std::size_t r = 0; r < Rows; ++r) {
      const KeyRange range = within_tile(tile.limits[r], tile.first_key, tile.count);
      for (std::size_t v = 0; v < Vectors; ++v) {
        const auto seen = lanes_within(d, range, place + lanes_of(v));
        sum[r][v] = hn::IfThenElse(seen, sum[r][v], masked);
      }
      if (Vectors == 1) sum[r][1] = masked;
    }
  }
  HWY_UNROLL(12)
  for (std::size_t r = 0; r < Rows; ++r) {
    const auto row = static_cast<std::int64_t>(r);
    hn::Store(sum[r][0], d, scores + row * keys_of_tile);
    hn::Store(sum[r][1], d, scores + row * keys_of_tile + vector_lanes);
    float* const largest = tile.lanes + row * lane_multiple;
    hn::Store(hn::Max(hn::Load(d, largest), hn::Max(sum[r][0], sum[r][1])), d, largest);
  }
}

// Adds weights times values of keys [keys.begin, keys.end) to one block of features.
template <std::size_t Rows, std::size_t Vectors>
HWY_NOINLINE void add_values(const TileOfRows& tile, std::int64_t feature, KeyRange keys) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t width = lanes_of(Vectors);
  float* const out = tile.sums_of_values + feature;
  hn::Vec<decltype(d)> sum[Rows][Vectors];
  HWY_UNROLL(12)
  for (std::size_t r = 0; r < Rows; ++r) {
    const float* const from = out + static_cast<std::int64_t>(r) * tile.features;
    for (std::size_t v = 0; v < Vectors; ++v) sum[r][v] = hn::Load(d, from + lanes_of(v));
  }
  const float* value = tile.values + feature * keys_of_tile + keys.begin * width;
  const float* weight = tile.scores + keys.begin;
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    hn::Vec<decltype(d)> of_key[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) of_key[v] = hn::Load(d, value + lanes_of(v));
    HWY_UNROLL(12)
    for (std::size_t r = 0; r < Rows; ++r) {
      auto factor = hn::Set(d, weight[static_cast<std::int64_t>(r) * keys_of_tile]);
      keep_in_register(factor);
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[r][v] = hn::MulAdd(factor, of_key[v], sum[r][v]);
      }
    }
    value += width;
    ++weight;
  }
  HWY_UNROLL(12)
  for (std::size_t r = 0; r < Rows; ++r) {
    float* const to = out + static_cast<std::int64_t>(r) * tile.features;
    for (std::size_t v = 0; v < Vectors; ++v) hn::Store(sum[r][v], d, to + lanes_of(v));
  }
}

// Adds weights times values of the keys to all features.
template <std::size_t Rows>
HWY_INLINE void add_all_values(const TileOfRows& tile, KeyRange keys) {
  if (is_empty(keys)) return;
  constexpr std::int64_t width = 2 * vector_lanes;
  std::int64_t feature = 0;
  for (; tile.features - feature >= width; feature += width) {
    add_values<Rows, 2>(tile, feature, keys);
  }
  if (feature < tile.features) add_values<Rows, 1>(tile, feature, keys);
}

HWY_INLINE TileOfRows from_row(TileOfRows tile, std::int64_t row) {
  tile.queries += row;
  tile.limits += row;
  tile.sums_of_values += row * tile.features;
  tile.scores += row * keys_of_tile;
  tile.lanes += row * lane_multiple;
  return tile;
}

// The changes for rows from `row` on. Keeps `seen`, which serves one group of rows at a time.
HWY_INLINE ScoreChanges from_row(ScoreChanges changes, std::int64_t row) {
  if (changes.rows != nullptr) changes.rows += row;
  return changes;
}

// Calls visit(rows, row) for all rows: as many at a time as a register tile holds, then four, then
// one. A row is computed in the same way in each case.
template <class Visit>
HWY_INLINE void for_each_register_tile(std::int64_t rows, const Visit& visit) {
  std::int64_t row = 0;
  const auto visit_all = [&](auto count) HWY_ATTR {
    for (; rows - row >= count(); row += count()) visit(count, row);
  };
  visit_all(std::integral_constant<std::int64_t, group_rows>());
  visit_all(std::integral_constant<std::int64_t, 4>());
  visit_all(std::integral_constant<std::int64_t, 1>());
}

// Number of rows whose common keys add_edges() adds at once.
inline constexpr std::int64_t edge_rows = 4;

// Adds to each row the values of its keys, keys_of(row).
template <class KeysOf>
HWY_INLINE void add_edges(const TileOfRows& tile, std::int64_t rows, const KeysOf& keys_of) {
  for (std::int64_t row = 0; row < rows; row += edge_rows) {
    const std::int64_t end = std::min(row + edge_rows, rows);
    KeyRange shared = keys_of(row);
    for (std::int64_t r = row + 1; r < end; ++r) {
      const KeyRange keys = keys_of(r);
      shared = {std::max(shared.begin, keys.begin), std::min(shared.end, keys.end)};
    }
    if (end - row < edge_rows || is_empty(shared)) shared = {tile.count, tile.count};
    for (std::int64_t r = row; r < end; ++r) {
      add_all_values<1>(from_row(tile, r), before(keys_of(r), shared));
    }
    add_all_values<edge_rows>(from_row(tile, row), shared);
    for (std::int64_t r = row; r < end; ++r) {
      add_all_values<1>(from_row(tile, r), after(keys_of(r), shared));
    }
  }
}

// Adds values of keys that all rows share to all rows at once. Adds values at the edges of a row's
// limits only to rows that see them. A masked key is not multiplied by 0: its value may be Inf or
// NaN. Each row adds its keys in rising order.
HWY_INLINE void add_values_within_limits(const TileOfRows& tile, std::int64_t rows,
                                         const RangesOfRows& ranges) {
  const KeyRange shared = ranges.shared;
  const auto range = [&](std::int64_t row) HWY_ATTR {
    return within_tile(tile.limits[row], tile.first_key, tile.count);
  };
  if (ranges.any.begin < shared.begin) {
    add_edges(tile, rows, [&](std::int64_t row) HWY_ATTR { return before(range(row), shared); });
  }
  for_each_register_tile(rows, [&](auto count, std::int64_t row) HWY_ATTR {
    add_all_values<static_cast<std::size_t>(count())>(from_row(tile, row), shared);
  });
  if (shared.end < ranges.any.end) {
    add_edges(tile, rows, [&](std::int64_t row) HWY_ATTR { return after(range(row), shared); });
  }
}

// As add_values_within_limits(), for rows whose keys a mask selects.
HWY_INLINE void add_seen_values(const TileOfRows& tile, std::int64_t rows,
                                const std::uint64_t* seen) {
  for_each_register_tile(rows, [&](auto count, std::int64_t first) HWY_ATTR {
    for_each_seen_run(count, first, seen, {0, tile.count},
                      [&](auto at_once, std::int64_t row, KeyRange keys) HWY_ATTR {
                        add_all_values<static_cast<std::size_t>(at_once())>(from_row(tile, row),
                                                                            keys);
                      });
  });
}

HWY_INLINE void score_tile(const TileOfRows& tile, std::int64_t rows, const RangesOfRows& ranges,
                           Fetching& fetching) {
  const KeyRange panels = whole_panels(ranges.any);
  const hn::ScalableTag<float> d;
  for (std::int64_t i = 0; i < rows * lane_multiple; i += vector_lanes) {
    hn::Store(hn::Set(d, minus_infinity), d, tile.lanes + i);
  }
  constexpr std::int64_t width = 2 * vector_lanes;
  for (std::int64_t place = panels.begin; place < panels.end; place += width) {
    const bool inside = ranges.shared.begin <= place && place + width <= ranges.shared.end;
    const bool half = ranges.any.end - place <= vector_lanes;
    for_each_register_tile(rows, [&](auto count, std::int64_t row) HWY_ATTR {
      constexpr auto at_once = static_cast<std::size_t>(count());
      if (half) {
        score_panel<at_once, 1>(from_row(tile, row), place, false);
      } else {
        score_panel<at_once, 2>(from_row(tile, row), place, inside);
      }
    });
    fetching.step();
  }
}

// Processes rows [row, row + rows) of the job, at most group_rows.
HWY_INLINE void accumulate_tile(const AccumulateJob& job, const TileOfRows& tile, std::int64_t row,
                                std::int64_t rows, Fetching& fetching) {
  const RangesOfRows ranges = ranges_of(tile.limits, rows, tile.first_key, tile.count);
  if (is_empty(ranges.any)) return;
  const hn::ScalableTag<float> d;
  const KeyRange panels = whole_panels(ranges.any);
  score_tile(tile, rows, ranges, fetching);
  const ScoreChanges changes = from_row(job.changes, row);
  // Does each step for all rows before the next step, so that rows do not wait for lane sums.
  const auto range_of = [&](std::int64_t r) HWY_ATTR {
    return within_tile(tile.limits[r], tile.first_key, tile.count);
  };
  Raised raised[group_rows];
  for (std::int64_t r = 0; r < rows; ++r) {
    const float largest =
        changes.rows == nullptr
            ? hn::GetLane(hn::MaxOfLanes(d, hn::Load(d, tile.lanes + r * lane_multiple)))
            : change_row(changes, r, tile.first_key, range_of(r), tile.scores + r * keys_of_tile);
    raised[r] = raise_max(state_row(job.state, row + r, job.features), largest);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto sums = weigh(d, tile.scores + r * keys_of_tile, panels, raised[r].base);
    hn::Store(sums, d, tile.lanes + r * lane_multiple);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto sums = hn::Load(d, tile.lanes + r * lane_multiple);
    add_weights_of(state_row(job.state, row + r, job.features),
                   {.weights = tile.scores + r * keys_of_tile,
                    .sum = hn::GetLane(hn::SumOfLanes(d, sums)),
                    .factor = raised[r].factor},
                   range_of(r), tile.limits[r].place_of_key_0 + tile.first_key);
  }
  if (changes.seen != nullptr) {
    add_seen_values(tile, rows, changes.seen);
  } else {
    add_values_within_limits(tile, rows, ranges);
  }
}

inline void accumulate(const AccumulateJob& job) {
  const std::int64_t padded = padded_features(job.features);
  const std::int64_t panels = rounded_up(job.count, 2 * vector_lanes) / (2 * vector_lanes);
  // Counts half of the panels, because rows that see nothing of a tile skip its panels.
  Fetching fetching(job.next, std::max<std::int64_t>(job.rows / group_rows * panels / 2, 1));
  for (std::int64_t first = 0; first < job.count; first += keys_of_tile) {
    const std::int64_t count = std::min(keys_of_tile, job.count - first);
    for (std::int64_t row = 0; row < job.rows; row += group_rows) {
      const std::int64_t rows = std::min(group_rows, job.rows - row);
      const std::int64_t group = (job.first + row) / group_rows;
      const TileOfRows tile{.queries = job.queries + group * group_stride * job.head_dim,
                            .limits = job.limits + row,
                            .first_key = job.first_key + first,
                            .count = count,
                            .head_dim = job.head_dim,
                            .features = padded,
                            .keys = job.keys + first * job.head_dim,
                            .values = job.values + first * padded,
                            .sums_of_values = job.state.sums_of_values + row * padded,
                            .scores = job.scratch,
                            .lanes = job.scratch + rows_of_group * keys_of_tile};
      accumulate_tile(job, tile, row, rows, fetching);
    }
  }
}

// Turns scores of whole panels into weights. Requires scores of at most max.
HWY_INLINE void finish_weights(float* scores, KeyRange panels, float max, float sum) {
  const hn::ScalableTag<float> d;
  const auto base = hn::Set(d, base_of(max));
  const auto divisor = hn::Set(d, sum == 0.0F ? 1.0F : sum);
  for (std::int64_t j = panels.begin; j < panels.end; j += vector_lanes) {
    const auto weight = exp2(d, hn::Sub(hn::Load(d, scores + j), base));
    hn::Store(hn::Div(weight, divisor), d, scores + j);
  }
}

inline void find_weights(const WeightsJob& job) {
  const NextHeads none;
  Fetching fetching(none, 1);
  for (std::int64_t row = 0; row < job.rows; row += group_rows) {
    const std::int64_t rows = std::min(group_rows, job.rows - row);
    const std::int64_t group = (job.first + row) / group_rows;
    // Values are not needed.
    const TileOfRows tile{.queries = job.queries + group * group_stride * job.head_dim,
                          .limits = job.limits + row,
                          .first_key = job.first_key,
                          .count = job.count,
                          .head_dim = job.head_dim,
                          .features = 0,
                          .keys = job.keys,
                          .values = nullptr,
                          .sums_of_values = job.weights,
                          .scores = job.weights + row * keys_of_tile,
                          .lanes = job.weights + rows_of_group * keys_of_tile};
    const RangesOfRows ranges = ranges_of(tile.limits, rows, tile.first_key, tile.count);
    if (is_empty(ranges.any)) continue;
    const KeyRange panels = whole_panels(ranges.any);
    score_tile(tile, rows, ranges, fetching);
    const ScoreChanges changes = from_row(job.changes, row);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (changes.rows != nullptr) {
        const KeyRange keys = within_tile(tile.limits[r], tile.first_key, tile.count);
        change_row(changes, r, tile.first_key, keys, tile.scores + r * keys_of_tile);
      }
      finish_weights(tile.scores + r * keys_of_tile, panels, job.max[row + r], job.sum[row + r]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
