// SPDX-License-Identifier: Apache-2.0
// Keys or values as runs of equally spaced heads, read in place or loaded a few at a time, with
// prefetching.

#if defined(ROTARY_KERNELS_STREAM_RUNS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_STREAM_RUNS_INL_HPP
#undef ROTARY_KERNELS_STREAM_RUNS_INL_HPP
#else
#define ROTARY_KERNELS_STREAM_RUNS_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_pack-inl.hpp"
#include "kernels/attend/attend_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {

// Equally spaced heads of one tensor, and how to prefetch while reading them.
template <class T>
struct Run {
  const T* first;
  std::int64_t stride;
  std::int64_t count;
  std::int64_t features;
  std::uintptr_t ahead = 0;  // bytes from a head to the one whose lines are prefetched; 0: none
  bool fetches_pages = false;
};

// Prefetch distance in keys: 4 KiB. On Zen 3, 2 KiB is as good and 16 KiB loses a tenth; on Zen 5,
// 4 to 8 KiB is best (decision 0012).
template <class T>
HWY_INLINE std::int64_t keys_ahead(std::int64_t features) {
  constexpr auto of_4_kib = static_cast<std::int64_t>(4096 / sizeof(T));
  return std::clamp<std::int64_t>(of_4_kib / std::max<std::int64_t>(features, 1), 4,
                                  keys_fetched_ahead);
}

// Fetches two lines one page ahead, twice per page. The processor's own prefetching would stop at
// the page's end; now it continues.
template <class T>
HWY_INLINE void fetch_page(const Run<T>& run, std::int64_t i) {
  constexpr std::int64_t page = 4096;
  const std::int64_t bytes = run.features * static_cast<std::int64_t>(sizeof(T));
  if ((i * bytes) % (page / 2) >= bytes) return;
  const std::uintptr_t head = address_of(run.first + i * run.stride);
  fetch<CacheLevel::second>(head + page);
  fetch<CacheLevel::second>(head + page + cache_line);
}

// Fetches all lines of a later key at once. Spreading them over the work on key i was slower.
template <class T>
HWY_INLINE void fetch_with_key(const Run<T>& run, std::int64_t i) {
  if (run.fetches_pages) fetch_page(run, i);
  if (run.ahead != 0) fetch_lines(run.first + i * run.stride, run.features, run.ahead);
}

// Spreads the prefetching of lines evenly over all blocks of features, in rising order.
template <class T>
struct BlockFetching {
  BlockFetching(const Run<T>& values, std::int64_t feature, std::int64_t width)
      : step(values.stride == values.features ? width : values.stride),
        first(values.first + feature * (step == width ? values.count : 1)),
        elements(width),
        ahead(values.ahead) {}

  HWY_INLINE void with_value(std::int64_t j) const {
    fetch_lines(first + j * step, elements, ahead);
  }

  std::int64_t step;
  const T* first;
  std::int64_t elements;
  std::uintptr_t ahead;
};

struct BlockPlace {
  const void* block;
  std::int64_t key;
};

HWY_INLINE BlockPlace place_of(const HeadBlocks& heads, std::int64_t at) {
  const std::int64_t key = heads.first + at;
  if (key < heads.block_keys) return {heads.blocks[0], key};  // spares a division
  return {heads.blocks[key / heads.block_keys], key % heads.block_keys};
}

template <class T>
HWY_INLINE const T* head_of(const HeadBlocks& heads, const BlockPlace& place) {
  return static_cast<const T*>(place.block) + place.key * heads.key_stride;
}

// Calls visit(run, first key) for keys [keys.begin, keys.end) of a job, read in place. Heads have
// [features] elements. The keys of a run are adjacent in one block, and so are the keys that they
// prefetch.
template <class T, class Visit>
HWY_INLINE void for_each_run(const HeadBlocks& heads, std::int64_t features, KeyRange keys,
                             const Visit& visit) {
  for (std::int64_t at = keys.begin; at < keys.end;) {
    const BlockPlace place = place_of(heads, at);
    Run<T> run{.first = head_of<T>(heads, place),
               .stride = heads.key_stride,
               .count = std::min(heads.block_keys - place.key, keys.end - at),
               .features = features};
    const std::int64_t distance = keys_ahead<T>(features);
    if (const std::int64_t fetched = at + distance; fetched < heads.known) {
      const BlockPlace ahead = place_of(heads, fetched);
      const T* const head = head_of<T>(heads, ahead);
      run.count = std::min({run.count, heads.block_keys - ahead.key, heads.known - fetched});
      const bool adjacent = run.stride == features && head == run.first + distance * features;
      run.fetches_pages = adjacent && heads.fetching == KeyFetching::pages;
      if (!run.fetches_pages) run.ahead = address_of(head) - address_of(run.first);
    }
    visit(run, at);
    at += run.count;
  }
}

// Calls visit(run, first key) for keys that are first loaded into scratch, a few at a time. There
// they are widened to float32, padded and rotated.
template <class T, class Visit>
HWY_INLINE void for_each_loaded_run(const HeadBlocks& heads, std::int64_t features,
                                    const HeadRotation& rotation, KeyRange keys, float* scratch,
                                    const Visit& visit) {
  const std::int64_t stride = padded_features(features);
  for (std::int64_t first = keys.begin; first < keys.end; first += keys_of_panel) {
    const std::int64_t count = std::min(keys_of_panel, keys.end - first);
    for (std::int64_t at = first; at < first + count; ++at) {
      if (const std::int64_t fetched = at + keys_ahead<T>(features); fetched < heads.known) {
        fetch_lines(head_of<T>(heads, place_of(heads, fetched)), features, 0);
      }
      load_head<T>(head_of<T>(heads, place_of(heads, at)), features, rotation, at,
                   scratch + (at - first) * stride);
    }
    visit(Run<float>{.first = scratch, .stride = stride, .count = count, .features = features},
          first);
  }
}

// Calls visit(run, first key) for all keys of the range, with heads padded to whole vectors. Loads
// keys into scratch if they need padding or rotation, or if blocks hold fewer than four keys.
template <class T, class Visit>
HWY_INLINE void visit_keys(const HeadBlocks& heads, std::int64_t features,
                           const HeadRotation& rotation, KeyRange keys, float* scratch,
                           const Visit& visit) {
  const bool as_they_lie = features % vector_lanes == 0 && rotation.order == PairOrder::none &&
                           (heads.block_keys >= 4 || heads.block_keys >= heads.known);
  if (as_they_lie) {
    for_each_run<T>(heads, features, keys, visit);
  } else {
    for_each_loaded_run<T>(heads, features, rotation, keys, scratch, visit);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
