// SPDX-License-Identifier: Apache-2.0
// Changes a row's scores between the products and the softmax: applies the softcap, then adds a
// bias and mask numbers. Also marks the keys that the mask allows. Values of other keys are not
// read for the row, even if other rows see them.

#if defined(ROTARY_KERNELS_CHANGES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CHANGES_INL_HPP
#undef ROTARY_KERNELS_CHANGES_INL_HPP
#else
#define ROTARY_KERNELS_CHANGES_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_tiles-inl.hpp"
#include "kernels/attend/softmax-inl.hpp"
#include "kernels/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Mask numbers in units of log2. Finite numbers stay finite, so a row masked only with the most
// negative float keeps its softmax.
template <class D>
HWY_INLINE hn::Vec<D> mask_number(D d, hn::Vec<D> number) {
  const auto scaled = hn::Mul(number, hn::Set(d, std::numbers::log2e_v<float>));
  const auto most = hn::Set(d, largest_bias);
  const auto bounded = hn::Max(hn::Min(scaled, most), hn::Neg(most));
  const auto infinity = hn::Set(d, -minus_infinity);
  return hn::IfThenElse(hn::Lt(hn::Abs(number), infinity), bounded, number);
}

template <class T>
void load_mask(const MaskNumbersJob& job) {
  const T* const from = static_cast<const T*>(job.first);
  if (job.stride == 1) {
    for_each_vector(hn::ScalableTag<float>(), 0, job.count,
                    [&](auto part, std::int64_t i) HWY_ATTR {
                      store(part, mask_number(part, load(part, from + i)), job.to + i);
                    });
    return;
  }
  const hn::CappedTag<float, 1> one;
  for (std::int64_t i = 0; i < job.count; ++i)
    store(one, mask_number(one, load(one, from + i * job.stride)), job.to + i);
}

// One row's mask numbers, indexed by a key's place in its tile. Keys hidden by a boolean get -inf.
HWY_INLINE void find_numbers(const ScoreChanges& changes, const RowChange& row, KeyRange keys,
                             std::int64_t first_key, float* numbers) {
  const std::int64_t count = keys.end - keys.begin;
  float* const to = numbers + keys.begin;
  const std::int64_t key = first_key + keys.begin;
  if (row.numbers == nullptr) {
    std::fill_n(to, count, 0.0F);
  } else {
    const auto* const first = static_cast<const std::byte*>(row.numbers) +
                              key * changes.numbers_stride * changes.number_bytes;
    changes.load_numbers({first, changes.numbers_stride, count, to});
  }
  if (row.booleans == nullptr) return;
  const std::uint8_t* const booleans = row.booleans + key * changes.booleans_stride;
  for (std::int64_t i = 0; i < count; ++i)
    // NOLINTNEXTLINE(bugprone-narrowing-conversions): both are float
    to[i] = booleans[i * changes.booleans_stride] == 0 ? minus_infinity : to[i];
}

// A bit for each lane that is not -inf, from the lowest lane on.
template <class D>
HWY_INLINE std::uint64_t seen_lanes(D d, hn::Vec<D> numbers) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, hn::Ne(numbers, hn::Set(d, minus_infinity)), bytes);
  return bytes[0] | static_cast<std::uint64_t>(bytes[1]) << 8;
}

template <class D>
HWY_INLINE hn::Vec<D> capped(D d, hn::Vec<D> score, float cap, float inverse) {
  return hn::Mul(hn::Tanh(d, hn::Mul(score, hn::Set(d, inverse))), hn::Set(d, cap));
}

// Marks all keys of a tile as unseen by a row.
HWY_INLINE void forget_keys(const ScoreChanges& changes, std::int64_t row) {
  if (changes.seen != nullptr)
    std::fill_n(changes.seen + row * words_of_tile, words_of_tile, std::uint64_t{0});
}

// Changes the scores of row `index` in whole panels and returns the largest. Scores of masked keys
// and scores outside `keys` become -inf.
HWY_NOINLINE inline float change_row(const ScoreChanges& changes, std::int64_t index,
                                     std::int64_t first_key, KeyRange keys, float* scores) {
  forget_keys(changes, index);
  if (is_empty(keys)) return minus_infinity;
  const hn::ScalableTag<float> d;
  const RowChange& row = changes.rows[index];
  const KeyRange panels = whole_panels(keys);
  alignas(attend_alignment) float numbers[keys_of_tile];
  std::fill(numbers + panels.begin, numbers + keys.begin, minus_infinity);
  std::fill(numbers + keys.end, numbers + panels.end, minus_infinity);
  find_numbers(changes, row, keys, first_key, numbers);
  const auto masked = hn::Set(d, minus_infinity);
  auto largest = masked;
  for (std::int64_t place = panels.begin; place < panels.end; place += vector_lanes) {
    const auto number = hn::Load(d, numbers + place);
    auto score = hn::Load(d, scores + place);
    if (changes.cap != 0) score = capped(d, score, changes.cap, changes.inverse_cap);
    const std::int64_t panel = place / (2 * vector_lanes) * (2 * vector_lanes);
    const float* const bias = bias_of_panel(row.bias, first_key + panel) + (place - panel);
    score = hn::Add(hn::Add(score, hn::LoadU(d, bias)), number);
    score = hn::IfThenElse(hn::Eq(number, masked), masked, score);
    hn::Store(score, d, scores + place);
    largest = hn::Max(largest, score);
    if (changes.seen != nullptr)
      changes.seen[index * words_of_tile + place / 64] |= seen_lanes(d, number) << (place % 64);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

struct TileBits {
  std::uint64_t words[words_of_tile];

  [[nodiscard]] HWY_INLINE bool has(std::int64_t place) const {
    return (words[place / 64] >> (place % 64) & 1) != 0;
  }
  // The first place after `place` with a different bit, or `end`.
  [[nodiscard]] HWY_INLINE std::int64_t next_change(std::int64_t place, std::int64_t end) const {
    const std::uint64_t same = has(place) ? ~std::uint64_t{0} : 0;
    while (place < end) {
      const std::uint64_t others = (words[place / 64] ^ same) >> (place % 64);
      if (others != 0) return std::min<std::int64_t>(place + std::countr_zero(others), end);
      place = (place / 64 + 1) * 64;
    }
    return end;
  }
  // Calls visit(run) for each run of set bits.
  template <class Visit>
  HWY_INLINE void for_each_run(KeyRange within, const Visit& visit) const {
    for (std::int64_t place = within.begin; place < within.end;) {
      const std::int64_t end = next_change(place, within.end);
      if (has(place)) visit(KeyRange{place, end});
      place = end;
    }
  }
};

// Calls add(rows, row, keys) for the keys that the rows see: for all `rows` at once if each sees
// them, otherwise for each row. Each row gets its keys in rising order.
template <class Rows, class Add>
HWY_INLINE void for_each_seen_run(Rows rows, std::int64_t first, const std::uint64_t* seen,
                                  KeyRange within, const Add& add) {
  TileBits all;
  TileBits any;
  std::copy_n(seen + first * words_of_tile, words_of_tile, all.words);
  any = all;
  const auto count = static_cast<std::int64_t>(rows());
  for (std::int64_t row = first + 1; row < first + count; ++row) {
    for (std::int64_t word = 0; word < words_of_tile; ++word) {
      all.words[word] &= seen[row * words_of_tile + word];
      any.words[word] |= seen[row * words_of_tile + word];
    }
  }
  any.for_each_run(within, [&](KeyRange of_any) HWY_ATTR {
    for (std::int64_t place = of_any.begin; place < of_any.end;) {
      const std::int64_t end = all.next_change(place, of_any.end);
      if (all.has(place)) {
        add(rows, first, KeyRange{place, end});
      } else {
        for (std::int64_t row = first; row < first + count; ++row) {
          TileBits of_row;
          std::copy_n(seen + row * words_of_tile, words_of_tile, of_row.words);
          of_row.for_each_run({place, end}, [&](KeyRange run) HWY_ATTR {
            add(std::integral_constant<std::size_t, 1>(), row, run);
          });
        }
      }
      place = end;
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
