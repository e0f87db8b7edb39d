// SPDX-License-Identifier: Apache-2.0
// Shaw's vectors (arXiv 1803.02155), one for each distance of key and query. Each is used once per
// query and distance, not once per key. The vectors' products with a query are a bias from which
// the sums of scores start. softmax-inl.hpp sums the weights at each distance; at the end, these
// sums multiply the vectors. Both steps multiply small matrices, in the register tiles of
// accumulate-inl.hpp.

#if defined(ROTARY_KERNELS_DISTANCES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_DISTANCES_INL_HPP
#undef ROTARY_KERNELS_DISTANCES_INL_HPP
#else
#define ROTARY_KERNELS_DISTANCES_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/attend/accumulate-inl.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_tiles-inl.hpp"
#include "kernels/attend/softmax-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Multiplies rows of one group, from `row` on, with vectors [first, first + Vectors *
// vector_lanes). `first` must begin a panel.
template <std::size_t Rows, std::size_t Vectors>
HWY_NOINLINE void score_vectors(const DistanceScoresJob& job, std::int64_t row,
                                std::int64_t first) {
  const hn::ScalableTag<float> d;
  const std::int64_t group = (job.first + row) / group_rows;
  const float* q = job.queries + group * group_stride * job.head_dim + row % group_rows;
  const float* vector = job.vectors + first * job.head_dim;
  hn::Vec<decltype(d)> sum[Rows][Vectors];
  for (auto& of_row : sum) {
    for (auto& each : of_row) each = hn::Zero(d);
  }
  for (std::int64_t f = job.head_dim; f > 0; --f) {
    hn::Vec<decltype(d)> numbers[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) numbers[v] = hn::Load(d, vector + lanes_of(v));
    HWY_UNROLL(12)
    for (std::size_t r = 0; r < Rows; ++r) {
      auto query = hn::Set(d, q[r]);
      keep_in_register(query);
      for (std::size_t v = 0; v < Vectors; ++v)
        sum[r][v] = hn::MulAdd(query, numbers[v], sum[r][v]);
    }
    q += group_stride;
    vector += 2 * vector_lanes;
  }
  const std::int64_t stride = distance_scores_size(job.count);
  float* const scores = job.scores + row * stride + keys_of_panel + first;
  HWY_UNROLL(12)
  for (std::size_t r = 0; r < Rows; ++r) {
    float* const to = scores + static_cast<std::int64_t>(r) * stride;
    for (std::size_t v = 0; v < Vectors; ++v) hn::Store(sum[r][v], d, to + lanes_of(v));
  }
}

// Multiplies all rows with vectors [first, first + Vectors * vector_lanes).
template <std::size_t Vectors>
HWY_INLINE void score_vectors_of_rows(const DistanceScoresJob& job, std::int64_t first) {
  for (std::int64_t group = 0; group < job.rows; group += group_rows) {
    for_each_register_tile(
        std::min(group_rows, job.rows - group), [&](auto count, std::int64_t row) HWY_ATTR {
          score_vectors<static_cast<std::size_t>(count()), Vectors>(job, group + row, first);
        });
  }
}

inline void score_distances(const DistanceScoresJob& job) {
  constexpr std::int64_t panel = 2 * vector_lanes;
  std::int64_t first = job.begin / panel * panel;
  for (; job.end - first > vector_lanes; first += panel) score_vectors_of_rows<2>(job, first);
  if (first < job.end) score_vectors_of_rows<1>(job, first);
  const std::int64_t stride = distance_scores_size(job.count);
  for (std::int64_t row = 0; row < job.rows; ++row) {
    float* const begin = job.scores + row * stride;
    float* const end = begin + keys_of_panel + job.count;
    if (job.begin == 0) std::fill_n(begin, keys_of_panel, begin[keys_of_panel]);
    if (job.end == job.count) std::fill(end, begin + stride, end[-1]);
  }
}

// Loads a row's sums of weights at places [first, first + count). The margins are added to the
// first and the last place.
HWY_INLINE void load_weights(const StateRow& row, std::int64_t first, std::int64_t count,
                             float* to) {
  const float* const sums = row.weights;
  std::copy_n(sums + first, count, to);
  const auto add = [](float& sum, const float* margin) {
    for (std::int64_t i = 0; i < lane_multiple; ++i) sum += margin[i];
  };
  if (first == 0) add(to[0], sums - lane_multiple);
  if (first + count == row.places) add(to[count - 1], sums + row.places);
}

// Marks the places of a row whose weight is not 0.
HWY_INLINE void mark_weights(const float* weights, KeyRange places, std::uint64_t* seen) {
  std::fill_n(seen, words_of_tile, std::uint64_t{0});
  for (std::int64_t place = places.begin; place < places.end; ++place)
    seen[place / 64] |= static_cast<std::uint64_t>(weights[place] != 0.0F) << (place % 64);
}

inline void add_place_values(const PlaceValuesJob& job) {
  const std::int64_t padded = padded_features(job.features);
  for (std::int64_t first = 0; first < job.state.places; first += keys_of_tile) {
    const std::int64_t count = std::min(keys_of_tile, job.state.places - first);
    for (std::int64_t row = 0; row < job.rows; row += group_rows) {
      const std::int64_t rows = std::min(group_rows, job.rows - row);
      const RangesOfRows ranges = ranges_of(job.limits + row, rows, first, count);
      if (is_empty(ranges.any)) continue;
      for (std::int64_t r = 0; r < rows; ++r) {
        load_weights(state_row(job.state, row + r, job.features), first, count,
                     job.scratch + r * keys_of_tile);
        if (job.seen == nullptr) continue;
        mark_weights(job.scratch + r * keys_of_tile, within_tile(job.limits[row + r], first, count),
                     job.seen + r * words_of_tile);
      }
      // Queries and keys are not needed.
      const TileOfRows tile{.queries = job.scratch,
                            .limits = job.limits + row,
                            .first_key = first,
                            .count = count,
                            .head_dim = 0,
                            .features = padded,
                            .keys = nullptr,
                            .values = job.values + first * padded,
                            .sums_of_values = job.state.sums_of_values + row * padded,
                            .scores = job.scratch,
                            .lanes = job.scratch};
      if (job.seen != nullptr) {
        add_seen_values(tile, rows, job.seen);
      } else {
        add_values_within_limits(tile, rows, ranges);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
