// SPDX-License-Identifier: Apache-2.0
#include "fuzz/views_answer.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace rotary::fuzz {
namespace {

using Bitmap = std::bitset<buffer_bytes>;

bool is_negative(const Extents& n) {
  return n.batch < 0 || n.tokens < 0 || n.heads < 0 || n.features < 0;
}

// As long as no element repeats, a view has no more elements than the buffer has bytes.
bool is_small(const Extents& n) {
  const auto limit = static_cast<std::int64_t>(buffer_bytes);
  std::int64_t elements = 1;
  for (const std::int64_t count : {n.batch, n.tokens, n.heads, n.features}) {
    if (count > limit) return false;
    elements *= count;
    if (elements > limit) return false;
  }
  return true;
}

// Whether this view alone, whatever else is passed, must be refused.
bool is_bad_view(const ConstHeadsView& view, const ViewsCase& views) {
  const auto& n = view.extents;
  if (size_in_bytes(view.dtype) == 0) return true;
  if ((view.dtype == DType::f64) != (views.rows == RowDType::f64)) return true;
  if (is_negative(n) || n.features != views.window.head_dim) return true;
  if (n.tokens != views.rotations_tokens) return true;
  if (views.rotations_batch != 1 && n.batch != views.rotations_batch) return true;
  if (is_empty(n)) return false;
  if (is_impossible(span_of(view)) || view.data == nullptr) return true;
  const auto size = static_cast<std::uintptr_t>(size_in_bytes(view.dtype));
  return reinterpret_cast<std::uintptr_t>(view.data) % size != 0;
}

// Marks the bytes of the view's elements; false when an element is met twice. Requires alignment,
// so elements of one view share all bytes or none.
bool mark(const ConstHeadsView& view, const std::byte* buffer, Bitmap& marked) {
  bool distinct = true;
  const auto size = static_cast<std::size_t>(size_in_bytes(view.dtype));
  for_each_head(view.extents, [&](const HeadIndex& index) {
    for (std::int64_t f = 0; f < view.extents.features; ++f) {
      const std::size_t begin = place_of(view, buffer, index, f);
      distinct = distinct && !marked[begin];
      for (std::size_t i = begin; i < begin + size; ++i) marked[i] = true;
    }
  });
  return distinct;
}

bool strides_nest(const ConstHeadsView& view) {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  std::array<std::pair<std::int64_t, std::int64_t>, 4> axes = {{{std::abs(s.batch), n.batch},
                                                                {std::abs(s.token), n.tokens},
                                                                {std::abs(s.head), n.heads},
                                                                {std::abs(s.feature), n.features}}};
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [stride, count] : axes) {
    if (count <= 1) continue;
    if (stride <= reach) return false;
    reach += (count - 1) * stride;
  }
  return true;
}

// What of the strides counts: those of an axis with one index do not.
Strides used_strides(const ConstHeadsView& view) {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return {.batch = n.batch > 1 ? s.batch : 0,
          .token = n.tokens > 1 ? s.token : 0,
          .head = n.heads > 1 ? s.head : 0,
          .feature = n.features > 1 ? s.feature : 0};
}

bool is_same_view(const ConstHeadsView& a, const ConstHeadsView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.extents == b.extents &&
         used_strides(a) == used_strides(b);
}

// Two views that are each good: do they have distinct elements (of src, only a destination must)
// and none in common?
Answer expected_of_elements(const ViewsCase& views, const std::byte* buffer) {
  const bool in_place = views.operation == Operation::rotate && is_same_view(views.dst, views.src);
  const bool writes_src = views.operation == Operation::rotate_qk;
  const auto has = [](const ConstHeadsView& view) { return !is_empty(view.extents); };
  if (has(views.dst) && !is_small(views.dst.extents)) return Answer::refuse;
  if (has(views.src) && !is_small(views.src.extents)) return Answer::refuse;
  Bitmap dst;
  Bitmap src;
  const bool distinct_dst = !has(views.dst) || mark(views.dst, buffer, dst);
  const bool distinct_src = !has(views.src) || mark(views.src, buffer, src);
  if (!distinct_dst || (writes_src && !distinct_src)) return Answer::refuse;
  if (!in_place && (dst & src).any()) return Answer::refuse;
  const bool nest = (!has(views.dst) || strides_nest(views.dst)) &&
                    (in_place || !has(views.src) || strides_nest(views.src));
  return nest ? Answer::accept : Answer::either;
}

bool are_bad_together(const ViewsCase& views) {
  if (views.operation == Operation::rotate) {
    return views.src.dtype != views.dst.dtype || views.src.extents != views.dst.extents;
  }
  return views.src.extents.batch != views.dst.extents.batch;
}

}  // namespace

Answer expected_answer(const ViewsCase& views, const std::byte* buffer) {
  const auto direction = static_cast<std::int32_t>(views.direction);
  if (direction < 1 || direction > 3) return Answer::refuse;
  if (is_bad_view(views.dst, views) || is_bad_view(views.src, views)) return Answer::refuse;
  if (are_bad_together(views)) return Answer::refuse;
  return expected_of_elements(views, buffer);
}

}  // namespace rotary::fuzz
