// SPDX-License-Identifier: Apache-2.0
#include "fuzz/strided.hpp"

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "check/views.hpp"
#include "fuzz/check.hpp"

namespace rotary::fuzz {
namespace {

using Bitmap = std::bitset<largest_buffer>;

// Marks the bytes of the view's elements. Returns false if an element repeats. Requires alignment,
// so elements of one view share all bytes or none.
bool mark(const Strided& view, const std::byte* buffer, Bitmap& marked) {
  bool distinct = true;
  const auto size = static_cast<std::size_t>(view.element_bytes);
  for_each_element(view, [&](const Axes& index) {
    const std::size_t begin = place_of(view, buffer, index);
    distinct = distinct && !marked[begin];
    for (std::size_t i = begin; i < begin + size; ++i) marked[i] = true;
  });
  return distinct;
}

bool strides_nest(const Strided& view) {
  std::array<std::pair<std::int64_t, std::int64_t>, 4> axes;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    axes[axis] = {std::abs(view.strides[axis]), view.counts[axis]};
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [stride, count] : axes) {
    if (count <= 1) continue;
    if (stride <= reach) return false;
    reach += (count - 1) * stride;
  }
  return true;
}

Strided adjacent(const void* data, std::int64_t element_bytes, std::size_t count) {
  return {.data = data,
          .element_bytes = element_bytes,
          .counts = {1, 1, 1, static_cast<std::int64_t>(count)},
          .strides = {0, 0, 0, 1}};
}

// True if the span exceeds the library's limit of 2^62 bytes on either side.
bool is_impossible(const Span& span) { return span.begin <= -0x1p62L || span.end >= 0x1p62L; }

}  // namespace

Strided strided(const ConstHeadsView& view) {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return {.data = view.data,
          .element_bytes = size_in_bytes(view.dtype),
          .counts = {n.batch, n.tokens, n.heads, n.features},
          .strides = {s.batch, s.token, s.head, s.feature}};
}

Strided strided(const ConstTokensView& view) {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return {.data = view.data,
          .element_bytes = size_in_bytes(view.dtype),
          .counts = {n.batch, n.tokens, 1, n.features},
          .strides = {s.batch, s.token, 0, s.feature}};
}

Strided strided(const ConstTableView& table) { return strided(check::as_heads(table)); }
Strided strided(const ConstScoresView& scores) { return strided(check::as_heads(scores)); }

Strided strided(const BooleanMaskView& mask) {
  const auto& [n, s] = std::pair(mask.extents, mask.strides);
  return {.data = mask.data,
          .element_bytes = 1,
          .counts = {n.batch, n.queries, n.heads, n.keys},
          .strides = {s.batch, s.query, s.head, s.key}};
}

Strided strided(std::span<const float> numbers) {
  return adjacent(numbers.data(), sizeof(float), numbers.size());
}

Strided strided(std::span<const double> numbers) {
  return adjacent(numbers.data(), sizeof(double), numbers.size());
}

bool is_empty(const Strided& view) {
  return std::find(view.counts.begin(), view.counts.end(), 0) != view.counts.end();
}

Strided without_repeats(Strided view) {
  for (std::size_t axis = 0; axis < view.counts.size(); ++axis) {
    if (view.strides[axis] == 0) view.counts[axis] = std::min<std::int64_t>(view.counts[axis], 1);
  }
  return view;
}

bool is_small(const Strided& view) {
  const auto limit = static_cast<std::int64_t>(largest_buffer);
  std::int64_t elements = 1;
  for (const std::int64_t count : view.counts) {
    if (count > limit) return false;
    elements *= std::max<std::int64_t>(count, 0);
    if (elements > limit) return false;
  }
  return true;
}

Span span_of(const Strided& view) {
  const auto size = static_cast<long double>(view.element_bytes);
  Span span{.begin = 0, .end = size};
  for (std::size_t axis = 0; axis < view.counts.size(); ++axis) {
    const long double steps = static_cast<long double>(view.counts[axis]) - 1;
    const long double bytes = steps * static_cast<long double>(view.strides[axis]) * size;
    (bytes < 0 ? span.begin : span.end) += bytes;
  }
  return span;
}

std::optional<Span> reach_of(const Strided& view) {
  const auto is_counted = [](std::int64_t count) { return count > 0; };
  const Span span = span_of(view);
  if (!std::ranges::all_of(view.counts, is_counted) || is_impossible(span)) return {};
  return span;
}

bool is_well_formed(const Strided& view) {
  const auto is_negative = [](std::int64_t count) { return count < 0; };
  if (view.element_bytes == 0) return false;
  if (std::any_of(view.counts.begin(), view.counts.end(), is_negative)) return false;
  if (is_empty(view)) return true;
  if (is_impossible(span_of(view)) || view.data == nullptr) return false;
  const auto size = static_cast<std::uintptr_t>(view.element_bytes);
  return reinterpret_cast<std::uintptr_t>(view.data) % size == 0;
}

bool is_countable(const Strided& view) {
  if (!is_well_formed(view)) return false;
  long double elements = 1;
  bool repeats = false;
  for (std::size_t axis = 0; axis < view.counts.size(); ++axis) {
    elements *= static_cast<long double>(view.counts[axis]);
    repeats = repeats || (view.counts[axis] > 1 && view.strides[axis] == 0);
  }
  return elements < (repeats ? 0x1p36L : 0x1p60L);
}

bool are_same(const Strided& a, const Strided& b) {
  if (a.data != b.data || a.element_bytes != b.element_bytes || a.counts != b.counts) return false;
  for (std::size_t axis = 0; axis < a.counts.size(); ++axis) {
    if (a.counts[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

std::size_t place_of(const Strided& view, const std::byte* buffer, const Axes& index) {
  std::int64_t elements = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    elements += index[axis] * view.strides[axis];
  }
  return static_cast<std::size_t>(static_cast<const std::byte*>(view.data) - buffer +
                                  elements * view.element_bytes);
}

Answer stricter(Answer a, Answer b) {
  if (a == Answer::refuse || b == Answer::refuse) return Answer::refuse;
  return a == Answer::either ? a : b;
}

Answer expected_of_sharing(std::span<const Strided> written, std::span<const Strided> read,
                           const std::byte* buffer) {
  Bitmap of_written;
  bool nest = true;
  for (const Strided& view : written) {
    if (is_empty(view)) continue;
    if (!is_small(view)) return Answer::refuse;  // some element repeats
    Bitmap own;
    if (!mark(view, buffer, own) || (own & of_written).any()) return Answer::refuse;
    of_written |= own;
    nest = nest && strides_nest(view);
  }
  for (const Strided& given : read) {
    if (is_empty(given)) continue;
    const Strided view = without_repeats(given);
    Bitmap own;
    mark(view, buffer, own);
    if ((own & of_written).any()) return Answer::refuse;
    nest = nest && strides_nest(view);
  }
  return nest ? Answer::accept : Answer::either;
}

void put_back(const Strided& view, const Memory& memory) {
  for_each_element(view, [&](const Axes& index) {
    const std::size_t at = place_of(view, memory.after.data(), index);
    std::memcpy(memory.after.data() + at, memory.before.data() + at,
                static_cast<std::size_t>(view.element_bytes));
  });
}

void check_unchanged(const Memory& memory, std::string_view what) {
  if (std::memcmp(memory.before.data(), memory.after.data(), memory.before.size()) != 0) fail(what);
}

void check_refused(const Error& error, Answer expected, const Memory& memory) {
  check_error(error);
  if (expected == Answer::accept) fail("a legal call must succeed", error.message);
  check_unchanged(memory, "nothing must be written on an error");
}

bool is_accepted(const Status& status, Answer expected, const Memory& memory) {
  if (!status) {
    check_refused(status.error(), expected, memory);
  } else if (expected == Answer::refuse) {
    fail("this call must be refused");
  }
  return status.ok();
}

}  // namespace rotary::fuzz
