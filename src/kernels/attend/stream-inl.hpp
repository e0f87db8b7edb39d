// SPDX-License-Identifier: Apache-2.0
// Attention of few query rows. Keys and values are read in place, each once; memory bandwidth is
// the limit. Each tile of keys is scored, four keys at a time; then its scores become weights, and
// its values are added. The running maximum thus changes once per tile. With KeyFetching::lines, a
// few values of a tile and a few keys of the next tile are read alternately, because two memory
// streams together are faster than one after the other.

#if defined(ROTARY_KERNELS_STREAM_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_STREAM_INL_HPP
#undef ROTARY_KERNELS_STREAM_INL_HPP
#else
#define ROTARY_KERNELS_STREAM_INL_HPP
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
#include "kernels/attend/stream_runs-inl.hpp"
#include "kernels/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// store_sums_of_four() sums the lanes of each of four vectors and stores the sums side by side.
#if HWY_TARGET != HWY_SCALAR
template <class D>
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> sum_blocks(D d, hn::Vec<D> blocks) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return blocks;
  } else {
    const hn::Half<D> half;
    return sum_blocks(half, hn::Add(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks)));
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void store_sums_of_four(D d, const V (&of)[4], float* to) {
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> wide;
  const auto two = [&](V first, V second) HWY_ATTR {
    return hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, first, second),
                                     hn::InterleaveUpper(d, first, second)));
  };
  const auto low = two(of[0], of[1]);
  const auto high = two(of[2], of[3]);
  const auto sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, low, high)),
                            hn::BitCast(d, hn::InterleaveUpper(wide, low, high)));
  hn::StoreU(sum_blocks(d, sums), hn::CappedTag<float, 4>(), to);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE void store_sums_of_four(D d, const V (&of)[4], float* to) {
  for (int i = 0; i < 4; ++i) hn::StoreU(of[i], d, to + i);
}
#endif

// Floats in a row of scores. The last four keys of a run may extend beyond the tile.
inline constexpr std::int64_t score_stride = keys_of_stream_tile + lane_multiple;

// Loaded queries of some rows, and the destination of their scores.
struct ScoredRows {
  const float* queries;  // [rows][stride]
  std::int64_t stride;
  float* scores;  // [rows][score_stride]
};

// Adds the products of queries with keys. Loads each query and each key once. Requires heads padded
// to whole vectors.
template <std::size_t Rows, std::size_t Keys, class T, class V>
HWY_INLINE void multiply_keys(const T* const* keys, std::int64_t features, const ScoredRows& to,
                              V (&sum)[Rows][Keys]) {
  const hn::ScalableTag<float> d;
  for (std::int64_t f = 0; f < features; f += vector_lanes) {
    V query[Rows];
    HWY_UNROLL(4)
    for (std::size_t r = 0; r < Rows; ++r) {
      auto loaded = hn::Load(d, to.queries + static_cast<std::int64_t>(r) * to.stride + f);
      keep_in_register(loaded);
      query[r] = loaded;
    }
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < Keys; ++k) {
      auto key = load(d, keys[k] + f);
      keep_in_register(key);
      HWY_UNROLL(4)
      for (std::size_t r = 0; r < Rows; ++r) sum[r][k] = hn::MulAdd(query[r], key, sum[r][k]);
    }
  }
}

// Scores four keys for Rows rows, without bias. Takes as many keys at once as registers hold sums.
template <std::size_t Rows, class T>
HWY_INLINE void score_four(const T* const (&keys)[4], std::int64_t features, const ScoredRows& to) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t at_once = few_registers && Rows >= 4 ? 2 : 4;
  hn::Vec<decltype(d)> sum[Rows][4];
  for (std::size_t first = 0; first < 4; first += at_once) {
    hn::Vec<decltype(d)> part[Rows][at_once];
    for (auto& of_row : part) {
      for (auto& each : of_row) each = hn::Zero(d);
    }
    multiply_keys(keys + first, features, to, part);
    for (std::size_t r = 0; r < Rows; ++r) {
      for (std::size_t k = 0; k < at_once; ++k) sum[r][first + k] = part[r][k];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    store_sums_of_four(d, sum[r], to.scores + static_cast<std::int64_t>(r) * score_stride);
  }
}

// Calls visit(rows, row) for all rows: four at a time, then two, then one.
template <class Visit>
HWY_INLINE void for_few_rows(std::int64_t rows, const Visit& visit) {
  std::int64_t row = 0;
  for (; rows - row >= 4; row += 4) visit(std::integral_constant<std::size_t, 4>(), row);
  for (; rows - row >= 2; row += 2) visit(std::integral_constant<std::size_t, 2>(), row);
  for (; row < rows; ++row) visit(std::integral_constant<std::size_t, 1>(), row);
}

// Scores a run of keys, four at a time; repeats the last key if fewer are left. scores: address of
// the score of the first key and row. Requires heads padded to whole vectors.
template <class T>
// NOLINTNEXTLINE(readability-non-const-parameter): scores are written through a member
HWY_NOINLINE void score_run(const Run<T>& keys, const StreamJob& job, float* scores) {
  const std::int64_t stride = padded_features(job.head_dim);
  const std::int64_t features = rounded_up(job.head_dim, vector_lanes);
  for (std::int64_t i = 0; i < keys.count; i += 4) {
    const T* four[4];
    for (std::int64_t k = 0; k < 4; ++k) {
      fetch_with_key(keys, i + k);
      four[k] = keys.first + std::min(i + k, keys.count - 1) * keys.stride;
    }
    for_few_rows(job.rows, [&](auto count, std::int64_t row) HWY_ATTR {
      score_four<count()>(four, features,
                          {.queries = job.queries + row * stride,
                           .stride = stride,
                           .scores = scores + row * score_stride + i});
    });
  }
}

// Weights for a run of values, and the sums they are added to.
struct WeightedSums {
  const float* weights;  // [rows][score_stride]
  float* sums;           // [rows][padded]
  std::int64_t padded;
};

// Adds weights times values to features [feature, feature + lanes_of(Vectors)).
template <std::size_t Rows, std::size_t Vectors, class T>
HWY_INLINE void add_block(const Run<T>& values, const WeightedSums& to, std::int64_t feature) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[Rows][Vectors];
  for (std::size_t r = 0; r < Rows; ++r) {
    const float* const from = to.sums + static_cast<std::int64_t>(r) * to.padded + feature;
    for (std::size_t v = 0; v < Vectors; ++v) sum[r][v] = hn::Load(d, from + lanes_of(v));
  }
  const BlockFetching<T> fetching(values, feature, lanes_of(Vectors));
  for (std::int64_t j = 0; j < values.count; ++j) {
    fetching.with_value(j);
    const T* const head = values.first + j * values.stride + feature;
    hn::Vec<decltype(d)> factor[Rows];
    HWY_UNROLL(4)
    for (std::size_t r = 0; r < Rows; ++r) {
      auto weight = hn::Set(d, to.weights[static_cast<std::int64_t>(r) * score_stride + j]);
      keep_in_register(weight);
      factor[r] = weight;
    }
    HWY_UNROLL(16)
    for (std::size_t v = 0; v < Vectors; ++v) {
      auto value = load(d, head + lanes_of(v));
      keep_in_register(value);
      HWY_UNROLL(4)
      for (std::size_t r = 0; r < Rows; ++r) {
        sum[r][v] = hn::MulAdd(factor[r], value, sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    float* const out = to.sums + static_cast<std::int64_t>(r) * to.padded + feature;
    for (std::size_t v = 0; v < Vectors; ++v) hn::Store(sum[r][v], d, out + lanes_of(v));
  }
}

// Adds weights times values to features [feature, padded), the widest blocks first.
template <std::size_t Rows, std::size_t Vectors, class T>
HWY_INLINE void add_blocks(const Run<T>& values, const WeightedSums& to, std::int64_t feature) {
  const std::int64_t features = rounded_up(values.features, vector_lanes);
  for (; features - feature >= lanes_of(Vectors); feature += lanes_of(Vectors)) {
    add_block<Rows, Vectors>(values, to, feature);
  }
  if constexpr (Vectors > 1) add_blocks<Rows, Vectors / 2>(values, to, feature);
}

// Adds weights times values to all features. Takes 32 values at a time: they stay in L1 while every
// block of features reads them. Requires heads padded to whole vectors.
template <std::size_t Rows, class T>
HWY_NOINLINE void add_values_of(const Run<T>& values, const WeightedSums& to) {
  constexpr std::size_t vectors = (few_registers ? 8 : 16) / Rows;
  constexpr std::int64_t values_at_once = 32;
  for (std::int64_t first = 0; first < values.count; first += values_at_once) {
    Run<T> part = values;
    part.first += first * values.stride;
    part.count = std::min(values_at_once, values.count - first);
    for (std::int64_t j = 0; part.fetches_pages && j < part.count; ++j) fetch_page(part, j);
    WeightedSums sums = to;
    sums.weights += first;
    add_blocks<Rows, vectors>(part, sums, 0);
  }
}

// A tile of the job's keys. Its scores become weights.
struct StreamTile {
  std::int64_t first = 0;  // index among the job's keys
  std::int64_t count = 0;
  RangesOfRows ranges = {.any = {0, 0}, .shared = {0, 0}};
  float* scores = nullptr;  // [rows][score_stride]
};

HWY_INLINE KeyRange intersection(const KeyRange& a, const KeyRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Adds a run of values that starts at `place` of its tile. Values at the edges of a row's limits
// are added only to that row, as in accumulate-inl.hpp. Requires heads padded to whole vectors.
template <class T>
HWY_INLINE void add_run(const Run<T>& values, const StreamJob& job, const StreamTile& tile,
                        std::int64_t place) {
  const std::int64_t padded = padded_features(job.features);
  const auto add = [&](auto rows, std::int64_t row, KeyRange keys) HWY_ATTR {
    if (is_empty(keys)) return;
    Run<T> part = values;
    part.first += keys.begin * values.stride;
    part.count = keys.end - keys.begin;
    add_values_of<rows()>(part, {.weights = tile.scores + row * score_stride + place + keys.begin,
                                 .sums = job.state.sums_of_values + row * padded,
                                 .padded = padded});
  };
  if (job.changes.seen != nullptr) {
    for_few_rows(job.rows, [&](auto rows, std::int64_t row) HWY_ATTR {
      for_each_seen_run(rows, row, job.changes.seen, {place, place + values.count},
                        [&](auto at_once, std::int64_t of, KeyRange keys) HWY_ATTR {
                          add(at_once, of, KeyRange{keys.begin - place, keys.end - place});
                        });
    });
    return;
  }
  const KeyRange& of_all = tile.ranges.shared;
  const KeyRange shared{std::clamp<std::int64_t>(of_all.begin - place, 0, values.count),
                        std::clamp<std::int64_t>(of_all.end - place, 0, values.count)};
  const bool has_edges = shared.end - shared.begin < values.count;
  const auto add_edges = [&](const auto& edge_of) HWY_ATTR {
    const std::integral_constant<std::size_t, 1> one;
    const std::int64_t first_key = job.first_key + tile.first + place;
    for (std::int64_t row = 0; has_edges && row < job.rows; ++row) {
      add(one, row, edge_of(within_tile(job.limits[row], first_key, values.count), shared));
    }
  };
  add_edges(before);
  for_few_rows(job.rows, [&](auto rows, std::int64_t row) HWY_ATTR { add(rows, row, shared); });
  add_edges(after);
}

// Adds the bias to a row's scores, masks scores beyond the row's limits, and returns the largest.
HWY_INLINE float complete_scores(const RowLimits& limits, std::int64_t first_key, KeyRange range,
                                 float* scores) {
  const hn::ScalableTag<float> d;
  const auto masked = hn::Set(d, minus_infinity);
  const KeyRange panels = whole_panels(range);
  auto largest = masked;
  for (std::int64_t place = panels.begin; place < panels.end; place += 2 * vector_lanes) {
    const float* const bias = bias_of_panel(limits, first_key + place);
    for (std::int64_t at = 0; at < 2 * vector_lanes; at += vector_lanes) {
      const auto sum = hn::Add(hn::Load(d, scores + place + at), hn::LoadU(d, bias + at));
      const auto score = hn::IfThenElse(lanes_within(d, range, place + at), sum, masked);
      hn::Store(score, d, scores + place + at);
      largest = hn::Max(largest, score);
    }
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// Multiplies a tile's scores, or weights, by the scales of the heads.
HWY_INLINE void multiply_by_scales(const StreamJob& job, const StreamTile& tile,
                                   const float* scales) {
  if (scales == nullptr) return;
  const hn::ScalableTag<float> d;
  const KeyRange panels = whole_panels(tile.ranges.any);
  for (std::int64_t row = 0; row < job.rows; ++row) {
    float* const numbers = tile.scores + row * score_stride;
    for (std::int64_t place = panels.begin; place < panels.end; place += vector_lanes) {
      const auto scale = hn::Load(d, scales + tile.first + place);
      hn::Store(hn::Mul(hn::Load(d, numbers + place), scale), d, numbers + place);
    }
  }
}

HWY_INLINE void weigh_tile(const StreamJob& job, const StreamTile& tile) {
  const hn::ScalableTag<float> d;
  const std::int64_t first_key = job.first_key + tile.first;
  multiply_by_scales(job, tile, job.key_scales);
  for (std::int64_t row = 0; row < job.rows; ++row) {
    float* const scores = tile.scores + row * score_stride;
    const KeyRange range = within_tile(job.limits[row], first_key, tile.count);
    if (is_empty(range)) {
      forget_keys(job.changes, row);
      continue;
    }
    float largest = complete_scores(job.limits[row], first_key, range, scores);
    if (job.changes.rows != nullptr)
      largest = change_row(job.changes, row, first_key, range, scores);
    const StateRow state = state_row(job.state, row, job.features);
    const Raised raised = raise_max(state, largest);
    const auto sums = weigh(d, scores, whole_panels(range), raised.base);
    add_weights_of(
        state,
        {.weights = scores, .sum = hn::GetLane(hn::SumOfLanes(d, sums)), .factor = raised.factor},
        range, job.limits[row].place_of_key_0 + first_key);
  }
  multiply_by_scales(job, tile, job.value_scales);
}

// The keys of the job at `places` of the tile.
HWY_INLINE KeyRange keys_at(const StreamTile& tile, const KeyRange& places) {
  return {tile.first + places.begin, tile.first + places.end};
}

// Scores keys of one tile and adds values of another, at places [part.begin, part.end) of each.
template <class T>
HWY_INLINE void score_and_add(const StreamJob& job, const StreamTile& scored,
                              const StreamTile& added, KeyRange part) {
  float* const room = job.scratch + 2 * job.rows * score_stride;
  const KeyRange keys = intersection(scored.ranges.any, part);
  if (!is_empty(keys)) {
    visit_keys<T>(job.keys, job.head_dim, job.rotation, keys_at(scored, keys), room,
                  [&](const auto& run, std::int64_t at)
                      HWY_ATTR { score_run(run, job, scored.scores + (at - scored.first)); });
  }
  const KeyRange values = intersection(added.ranges.any, part);
  if (!is_empty(values)) {
    visit_keys<T>(job.values, job.features, {}, keys_at(added, values), room,
                  [&](const auto& run, std::int64_t at)
                      HWY_ATTR { add_run(run, job, added, at - added.first); });
  }
}

HWY_INLINE StreamTile tile_at(const StreamJob& job, std::int64_t first) {
  const std::int64_t count = std::min(keys_of_stream_tile, job.count - first);
  const std::int64_t buffer = first / keys_of_stream_tile % 2;
  return {.first = first,
          .count = count,
          .ranges = ranges_of(job.limits, job.rows, job.first_key + first, count),
          .scores = job.scratch + buffer * job.rows * score_stride};
}

// Number of keys read before the next values: about 4 KiB, the prefetch distance (decision 0012).
template <class T>
HWY_INLINE std::int64_t keys_by_turns(std::int64_t head_dim) {
  return std::clamp<std::int64_t>(keys_ahead<T>(head_dim) / 4 * 4, 8, keys_of_stream_tile);
}

template <class T>
void stream(const StreamJob& job) {
  const std::int64_t at_once = job.keys.fetching == KeyFetching::lines
                                   ? keys_by_turns<T>(job.head_dim)
                                   : keys_of_stream_tile;
  StreamTile last;
  for (std::int64_t first = 0; first < job.count; first += keys_of_stream_tile) {
    const StreamTile next = tile_at(job, first);
    for (std::int64_t place = 0; place < keys_of_stream_tile; place += at_once) {
      score_and_add<T>(job, next, last, {place, place + at_once});
    }
    if (!is_empty(next.ranges.any)) weigh_tile(job, next);
    last = next;
  }
  score_and_add<T>(job, {}, last, {0, keys_of_stream_tile});
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
