// SPDX-License-Identifier: Apache-2.0
// Addresses of a tile's keys or values in the form that attention kernels take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// The keys of one kv head of sequence == call.sequences()[index].
struct SequenceKeys {
  const AttendCall& call;
  const AttentionSequence& sequence;
  std::int64_t index;
  std::int64_t kv_head;

  [[nodiscard]] const void* head(const StoredHeads& view, std::int64_t key) const noexcept {
    const KeyPlace place = key_place(call, sequence, index, key);
    return head_at(view, place.batch, place.token, kv_head);
  }
};

// Writes the address of each key.
inline void find_heads(const SequenceKeys& of, const StoredHeads& view, const KeyRun& keys,
                       const void** heads) noexcept {
  for (std::int64_t key = keys.begin; key < keys.end; ++key) *heads++ = of.head(view, key);
}

// Finds the blocks that hold the keys and writes their addresses to `blocks`: one per page, or a
// single one without pages. The first key may be anywhere in its page.
[[nodiscard]] inline kernels::HeadBlocks find_blocks(const SequenceKeys& of,
                                                     const StoredHeads& view, const KeyRun& keys,
                                                     const void** blocks) noexcept {
  const bool paged = of.call.table != nullptr;
  const std::int64_t known = keys.end - keys.begin;
  const std::int64_t slots = paged ? of.call.k.extents.tokens : known;
  const std::int64_t first = paged ? (of.sequence.first_key + keys.begin) % slots : 0;
  std::int64_t count = 0;
  for (std::int64_t key = keys.begin - first; key < keys.end; key += slots)
    blocks[count++] = of.head(view, key);
  return {.blocks = blocks,
          .block_keys = slots,
          .key_stride = view.strides.token,
          .first = first,
          .known = known};
}

// Gathers the keys' scales, 0 for heads without elements. Returns null if keys are not in 8 bits.
[[nodiscard]] inline const float* find_scales(const SequenceKeys& of, const StoredHeads& heads,
                                              const KeyRun& keys, float* scales) noexcept {
  if (!heads.quantized()) return nullptr;
  if (!has_elements(heads.extents)) {
    std::fill_n(scales, keys.end - keys.begin, 0.0F);
    return scales;
  }
  const bool paged = of.call.table != nullptr;
  const std::int64_t slots = paged ? heads.extents.tokens : keys.end;
  const ScaleStrides& s = heads.scale_strides;
  float* to = scales;
  for (std::int64_t key = keys.begin; key < keys.end;) {
    const KeyPlace place = key_place(of.call, of.sequence, of.index, key);
    const std::int64_t left = paged ? slots - place.token : slots;
    const float* const from =
        heads.scales + place.batch * s.batch + place.token * s.token + of.kv_head * s.head;
    const std::int64_t count = std::min(left, keys.end - key);
    if (s.token == 1) {
      to = std::copy_n(from, count, to);
    } else {
      for (std::int64_t i = 0; i < count; ++i) *to++ = from[i * s.token];
    }
    key += count;
  }
  return scales;
}

// Keys and values to prefetch while the tile before them is processed. Affects speed, not results.
[[nodiscard]] inline kernels::NextHeads next_heads(const SequenceKeys& of, const KeyRun& keys,
                                                   const void** heads) noexcept {
  const std::int64_t count = std::max<std::int64_t>(keys.end - keys.begin, 0);
  find_heads(of, of.call.k, keys, heads);
  find_heads(of, of.call.v, keys, heads + count);
  const auto bytes = [](const StoredHeads& view) {
    return view.extents.features * view.element_bytes();
  };
  return {
      .heads = heads, .count = 2 * count, .bytes = std::max(bytes(of.call.k), bytes(of.call.v))};
}

}  // namespace rotary
