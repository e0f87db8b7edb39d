// SPDX-License-Identifier: Apache-2.0
// Attention of few query rows to keys and values as they lie, each read once: what bounds it is
// memory. A tile of keys gets its scores, four keys at a time, then its weights, then its values,
// so that the running maximum changes once for each tile. Compiled once for each instruction set.

#if defined(ROTARY_KERNELS_STREAM_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_STREAM_INL_HPP
#undef ROTARY_KERNELS_STREAM_INL_HPP
#else
#define ROTARY_KERNELS_STREAM_INL_HPP
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/attend_kernels.hpp"
#include "kernels/attend_pack-inl.hpp"
#include "kernels/attend_tiles-inl.hpp"
#include "kernels/elements-inl.hpp"
#include "kernels/softmax-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Heads are fetched so many keys before they are used: 8 KiB of float32 heads of 64 features.
inline constexpr std::int64_t fetched_ahead = 32;

// Some heads of one tensor, and what is read after them.
struct Heads {
  const void* const* heads = nullptr;  // [count]
  std::int64_t count = 0;
  std::int64_t bytes = 0;               // of one head; 0: nothing is fetched
  const void* const* others = nullptr;  // the heads of the other tensor that are read next
  std::int64_t others_count = 0;
  std::int64_t others_bytes = 0;
};

HWY_INLINE void fetch(const void* head, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  const auto* const from = static_cast<const char*>(head);
  for (std::int64_t byte = 0; byte < bytes; byte += line) hwy::Prefetch(from + byte);
}

HWY_INLINE void fetch_ahead(const Heads& heads, std::int64_t place) {
  const std::int64_t ahead = place + fetched_ahead;
  if (ahead < heads.count) {
    fetch(heads.heads[ahead], heads.bytes);
  } else if (ahead - heads.count < heads.others_count) {
    fetch(heads.others[ahead - heads.count], heads.others_bytes);
  }
}

// Of four vectors the sums of their lanes, side by side.
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

// How far a vector is from the first one.
constexpr std::int64_t lanes_of(std::size_t vectors) {
  return static_cast<std::int64_t>(vectors) * vector_lanes;
}

// Loaded queries of some rows, and where their scores go.
struct ScoredRows {
  const float* queries;  // [rows][stride]
  std::int64_t stride;
  float* scores;  // [rows][keys_of_tile]
};

// Scores, without bias, of four keys of whole vectors.
template <std::size_t Rows, class T>
HWY_INLINE void score_four(const T* const (&keys)[4], std::int64_t features, const ScoredRows& to) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[Rows][4];
  for (auto& of_row : sum) {
    for (auto& each : of_row) each = hn::Zero(d);
  }
  for (std::int64_t f = 0; f < features; f += vector_lanes) {
    hn::Vec<decltype(d)> key[4];
    for (std::size_t k = 0; k < 4; ++k) key[k] = load(d, keys[k] + f);
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto query = hn::Load(d, to.queries + static_cast<std::int64_t>(r) * to.stride + f);
      for (std::size_t k = 0; k < 4; ++k) sum[r][k] = hn::MulAdd(query, key[k], sum[r][k]);
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    store_sums_of_four(d, sum[r], to.scores + static_cast<std::int64_t>(r) * keys_of_tile);
  }
}

// Calls visit(rows, row) for all rows, few of them at a time.
template <class Visit>
HWY_INLINE void for_few_rows(std::int64_t rows, const Visit& visit) {
  std::int64_t row = 0;
  for (; rows - row >= 4; row += 4) visit(std::integral_constant<std::size_t, 4>(), row);
  for (; row < rows; ++row) visit(std::integral_constant<std::size_t, 1>(), row);
}

// Scores of keys of whole vectors, the first of which is at `place` of its tile. The last key
// stands in for those that four lack.
template <class T>
HWY_NOINLINE void score_run(const Heads& keys, const StreamJob& job, std::int64_t place) {
  const std::int64_t stride = padded_features(job.head_dim);
  const std::int64_t features = rounded_up(job.head_dim, vector_lanes);
  for (std::int64_t i = 0; i < keys.count; i += 4) {
    const T* four[4];
    for (std::int64_t k = 0; k < 4; ++k) {
      fetch_ahead(keys, i + k);
      four[k] = static_cast<const T*>(keys.heads[std::min(i + k, keys.count - 1)]);
    }
    for_few_rows(job.rows, [&](auto count, std::int64_t row) HWY_ATTR {
      score_four<count()>(four, features,
                          {.queries = job.queries + row * stride,
                           .stride = stride,
                           .scores = job.scratch + row * keys_of_tile + place + i});
    });
  }
}

// Weights of a run of values, and where they are summed.
struct WeightedSums {
  const float* weights;  // [rows][keys_of_tile]
  float* sums;           // [rows][padded]
  std::int64_t padded;
};

// Adds weights times values to features [feature, feature + lanes_of(Vectors)).
template <std::size_t Rows, std::size_t Vectors, class T>
HWY_INLINE void add_block(const Heads& values, const WeightedSums& to, std::int64_t feature) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[Rows][Vectors];
  for (std::size_t r = 0; r < Rows; ++r) {
    const float* const from = to.sums + static_cast<std::int64_t>(r) * to.padded + feature;
    for (std::size_t v = 0; v < Vectors; ++v) sum[r][v] = hn::Load(d, from + lanes_of(v));
  }
  for (std::int64_t j = 0; j < values.count; ++j) {
    if (feature == 0) fetch_ahead(values, j);
    const T* const head = static_cast<const T*>(values.heads[j]) + feature;
    hn::Vec<decltype(d)> value[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) value[v] = load(d, head + lanes_of(v));
    for (std::size_t r = 0; r < Rows; ++r) {
      const float weight = to.weights[static_cast<std::int64_t>(r) * keys_of_tile + j];
      const auto factor = hn::Set(d, weight);
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[r][v] = hn::MulAdd(factor, value[v], sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    float* const out = to.sums + static_cast<std::int64_t>(r) * to.padded + feature;
    for (std::size_t v = 0; v < Vectors; ++v) hn::Store(sum[r][v], d, out + lanes_of(v));
  }
}

// Values of whole vectors, [features].
template <std::size_t Rows, class T>
HWY_NOINLINE void add_values_of(const Heads& values, const WeightedSums& to,
                                std::int64_t features) {
  constexpr std::size_t vectors = 4;
  std::int64_t feature = 0;
  for (; features - feature >= lanes_of(vectors); feature += lanes_of(vectors)) {
    add_block<Rows, vectors, T>(values, to, feature);
  }
  for (; feature < features; feature += vector_lanes) {
    add_block<Rows, 1, T>(values, to, feature);
  }
}

HWY_INLINE Heads part_of(Heads heads, std::int64_t first, std::int64_t count) {
  heads.heads += first;
  heads.count = std::max(count, std::int64_t{0});
  return heads;
}

// Values of whole vectors, the first of which is at `place` of its tile; as in
// accumulate-inl.hpp, those at the edges of a row's limits to that row alone.
template <class T>
HWY_INLINE void add_run(const Heads& values, const StreamJob& job, std::int64_t first_key,
                        std::int64_t place) {
  const std::int64_t padded = padded_features(job.features);
  const std::int64_t features = rounded_up(job.features, vector_lanes);
  const std::int64_t first = first_key + place;
  const KeyRange shared = ranges_of(job.limits, job.rows, first, values.count).shared;
  const auto add = [&](auto rows, std::int64_t row, KeyRange keys) HWY_ATTR {
    if (is_empty(keys)) return;
    const WeightedSums to{.weights = job.scratch + row * keys_of_tile + place + keys.begin,
                          .sums = job.state.sums_of_values + row * padded,
                          .padded = padded};
    add_values_of<rows(), T>(part_of(values, keys.begin, keys.end - keys.begin), to, features);
  };
  const std::integral_constant<std::size_t, 1> one;
  for (std::int64_t row = 0; row < job.rows; ++row) {
    add(one, row, before(within_tile(job.limits[row], first, values.count), shared));
  }
  for_few_rows(job.rows, [&](auto rows, std::int64_t row) HWY_ATTR { add(rows, row, shared); });
  for (std::int64_t row = 0; row < job.rows; ++row) {
    add(one, row, after(within_tile(job.limits[row], first, values.count), shared));
  }
}

// Calls visit(heads of whole vectors, an element of them, the first one's place among heads): all
// as they lie, or keys_of_panel at a time, widened to float32 and padded.
template <class T, class Visit>
HWY_INLINE void for_each_run(const Heads& heads, std::int64_t features, float* scratch,
                             const Visit& visit) {
  if (features % vector_lanes == 0) {
    visit(heads, T{}, std::int64_t{0});
    return;
  }
  const void* widened[keys_of_panel];
  for (std::int64_t first = 0; first < heads.count; first += keys_of_panel) {
    const std::int64_t count = std::min(keys_of_panel, heads.count - first);
    for (std::int64_t i = 0; i < count; ++i) {
      fetch_ahead(heads, first + i);
      float* const to = scratch + i * padded_features(features);
      widen_head<T>(heads.heads[first + i], features, to);
      widened[i] = to;
    }
    Heads run;
    run.heads = widened;
    run.count = count;
    visit(run, 0.0F, first);
  }
}

// Adds the bias to a row's scores, and masks those beyond its limits; the largest one.
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

template <class T>
HWY_INLINE void stream_tile(const StreamJob& job, std::int64_t first, std::int64_t count) {
  const std::int64_t first_key = job.first_key + first;
  const KeyRange any = ranges_of(job.limits, job.rows, first_key, count).any;
  if (is_empty(any)) return;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  float* const room = job.scratch + job.rows * keys_of_tile;
  const Heads keys{.heads = job.keys + first + any.begin,
                   .count = any.end - any.begin,
                   .bytes = job.head_dim * size,
                   .others = job.values + first + any.begin,
                   .others_count = any.end - any.begin,
                   .others_bytes = job.features * size};
  for_each_run<T>(keys, job.head_dim, room,
                  [&](const Heads& run, auto of, std::int64_t at)
                      HWY_ATTR { score_run<decltype(of)>(run, job, any.begin + at); });
  for (std::int64_t row = 0; row < job.rows; ++row) {
    float* const scores = job.scratch + row * keys_of_tile;
    const KeyRange range = within_tile(job.limits[row], first_key, count);
    if (is_empty(range)) continue;
    const float largest = complete_scores(job.limits[row], first_key, range, scores);
    weigh_row(state_row(job.state, row, job.features), scores, whole_panels(range), largest);
  }
  const Heads values{.heads = keys.others,
                     .count = keys.count,
                     .bytes = keys.others_bytes,
                     .others = job.keys + first + any.end,
                     .others_count = job.count - first - any.end,
                     .others_bytes = keys.bytes};
  for_each_run<T>(values, job.features, room,
                  [&](const Heads& run, auto of, std::int64_t at)
                      HWY_ATTR { add_run<decltype(of)>(run, job, first_key, any.begin + at); });
}

template <class T>
void stream(const StreamJob& job) {
  for (std::int64_t first = 0; first < job.count; first += keys_of_tile) {
    stream_tile<T>(job, first, std::min(keys_of_tile, job.count - first));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
