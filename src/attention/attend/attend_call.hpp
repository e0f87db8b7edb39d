// SPDX-License-Identifier: Apache-2.0
// One call of attend(): its arguments, its sequences with defaults filled in, and element offsets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rotary/attention.hpp"
#include "tensor/overlap.hpp"
#include "tensor/stored_heads.hpp"

namespace rotary {

// The listed sequences of a call. Without a list, each batch row is a sequence.
struct Sequences {
  std::span<const AttentionSequence> listed = {};
  std::int64_t batch_rows = 0;
  std::int64_t queries = 0;  // of a batch row
  std::int64_t keys = 0;

  [[nodiscard]] std::int64_t count() const noexcept {
    return batch_rows + static_cast<std::int64_t>(listed.size());
  }
  // Number of sequences that differ in more than the batch row: all listed ones, or one batch row.
  [[nodiscard]] std::int64_t different() const noexcept {
    return std::min<std::int64_t>(batch_rows, 1) + static_cast<std::int64_t>(listed.size());
  }
  [[nodiscard]] AttentionSequence operator[](std::int64_t index) const noexcept {
    if (!listed.empty()) return listed[static_cast<std::size_t>(index)];
    return {.batch = index, .queries = queries, .keys = keys, .query_position = keys - queries};
  }
};

struct AttendCall {
  HeadsView out;
  ConstHeadsView q;
  StoredHeads k;
  StoredHeads v;
  const BlockTable* table = nullptr;  // null: keys are in batch rows
  const AttendOptions& options;
  // The masks of the options as element views, with queries as tokens and keys as features. Unused
  // strides are 0.
  std::optional<ElementsView> additive_mask = {};
  std::optional<ElementsView> boolean_mask = {};

  // Query heads per kv head. Requires checked extents.
  [[nodiscard]] std::int64_t group() const noexcept {
    return k.extents.heads == 0 ? 0 : q.extents.heads / k.extents.heads;
  }
  // Number of keys that have scores; -1 beyond int64.
  [[nodiscard]] std::int64_t columns() const noexcept {
    std::int64_t keys = k.extents.tokens;
    if (table != nullptr && __builtin_mul_overflow(keys, table->blocks_of_sequence, &keys))
      return -1;
    return keys;
  }
  [[nodiscard]] bool masks_pairs() const noexcept { return additive_mask || boolean_mask; }
  // Null if the caller asked for no weights or has no keys. Requires at least one query.
  [[nodiscard]] const ScoresView* weights() const noexcept {
    const auto& view = options.weights;
    return view && view->extents.keys > 0 ? &*view : nullptr;
  }
  // True if there is an element to write. Requires checked extents.
  [[nodiscard]] bool writes_anything() const noexcept {
    const Extents& n = out.extents;
    if (n.batch == 0 || n.tokens == 0 || n.heads == 0) return false;
    return n.features > 0 || options.log_sum_exp || weights() != nullptr;
  }
  // Paged keys always come with a list of sequences, even an empty one.
  [[nodiscard]] Sequences sequences() const noexcept {
    if (!options.sequences.empty() || table != nullptr) return {.listed = options.sequences};
    return {.batch_rows = q.extents.batch, .queries = q.extents.tokens, .keys = k.extents.tokens};
  }
};

// Offset of feature 0 of one head of a token, in elements.
[[nodiscard]] inline std::int64_t head_offset(const Strides& strides, std::int64_t batch,
                                              std::int64_t token, std::int64_t head) noexcept {
  return batch * strides.batch + token * strides.token + head * strides.head;
}
[[nodiscard]] inline const std::byte* head_at(const StoredHeads& heads, std::int64_t batch,
                                              std::int64_t token, std::int64_t head) noexcept {
  return static_cast<const std::byte*>(heads.data) +
         head_offset(heads.strides, batch, token, head) * heads.element_bytes();
}
[[nodiscard]] inline const std::byte* head_at(const ConstHeadsView& view, std::int64_t batch,
                                              std::int64_t token, std::int64_t head) noexcept {
  return static_cast<const std::byte*>(view.data) +
         head_offset(view.strides, batch, token, head) * size_in_bytes(view.dtype);
}
[[nodiscard]] inline std::byte* head_at(const HeadsView& view, std::int64_t batch,
                                        std::int64_t token, std::int64_t head) noexcept {
  return static_cast<std::byte*>(view.data) +
         head_offset(view.strides, batch, token, head) * size_in_bytes(view.dtype);
}

struct QueryPlace {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;
};

// Offset of a query's first score, in elements.
[[nodiscard]] inline std::int64_t score_offset(const ScoresStrides& strides,
                                               const QueryPlace& at) noexcept {
  return at.batch * strides.batch + at.head * strides.head + at.token * strides.query;
}

// Batch row and token of k and v that hold a key.
struct KeyPlace {
  std::int64_t batch = 0;
  std::int64_t token = 0;
};

// Requires sequence == call.sequences()[index] and a key in the sequence.
[[nodiscard]] inline KeyPlace key_place(const AttendCall& call, const AttentionSequence& sequence,
                                        std::int64_t index, std::int64_t key) noexcept {
  const std::int64_t token = sequence.first_key + key;
  if (call.table == nullptr) return {sequence.batch, token};
  const std::int64_t slots = call.k.extents.tokens;
  const BlockTable& table = *call.table;
  return {table.blocks[index * table.stride + token / slots], token % slots};
}

}  // namespace rotary
