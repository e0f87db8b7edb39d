// SPDX-License-Identifier: Apache-2.0
// A common form of all kinds of views (elements at strides), and the requirements of the headers on
// their memory. Every element is checked. All views of a case are in one small buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "rotary/attention.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// For sums, differences and products that exceed int64.
__extension__ using int128 = __int128;

inline constexpr std::size_t largest_buffer = std::size_t{1} << 14;

// One number for each axis: batch, token, head, feature. A view without an axis has count 1.
using Axes = std::array<std::int64_t, 4>;

struct Strided {
  const void* data = nullptr;
  std::int64_t element_bytes = 0;  // 0: no such dtype
  Axes counts = {1, 1, 1, 1};
  Axes strides = {};  // in elements
};

[[nodiscard]] Strided strided(const ConstHeadsView& view);
[[nodiscard]] Strided strided(const ConstTokensView& view);
[[nodiscard]] Strided strided(const ConstTableView& table);
[[nodiscard]] Strided strided(const ConstScoresView& scores);  // batch, query, head, key
[[nodiscard]] Strided strided(const BooleanMaskView& mask);    // batch, query, head, key
[[nodiscard]] Strided strided(std::span<const float> numbers);
[[nodiscard]] Strided strided(std::span<const double> numbers);

[[nodiscard]] bool is_empty(const Strided& view);

// Returns a view of each distinct element once, without the repeats of a stride of 0.
[[nodiscard]] Strided without_repeats(Strided view);

// True if the view has no more elements than the buffer has bytes. A source view with strides of 0
// may have any number of elements, and take any time.
[[nodiscard]] bool is_small(const Strided& view);

// Bytes that a view spans, relative to its data. Requires counts of at least 1. Exact below 2^64,
// far beyond the library's limit.
struct Span {
  long double begin = 0;
  long double end = 0;
};
[[nodiscard]] Span span_of(const Strided& view);

// The span of a view that has an element and can exist.
[[nodiscard]] std::optional<Span> reach_of(const Strided& view);

// True if the view meets every call's requirements: a dtype, counts of at least 0, and, if there is
// an element, a possible span and data that is aligned and not null.
[[nodiscard]] bool is_well_formed(const Strided& view);

// For views of relative encodings: is_well_formed(), and fewer than 2^60 elements, or 2^36 if a
// stride of 0 repeats elements.
[[nodiscard]] bool is_countable(const Strided& view);

// True if the views have the same elements in order. Ignores strides of axes with one index.
[[nodiscard]] bool are_same(const Strided& a, const Strided& b);

// The offset of an element in the buffer, in bytes.
[[nodiscard]] std::size_t place_of(const Strided& view, const std::byte* buffer, const Axes& index);

template <class Visit>
void for_each_element(const Strided& view, Visit visit) {
  if (is_empty(view)) return;
  const Axes& n = view.counts;
  Axes at = {};
  for (at[0] = 0; at[0] < n[0]; ++at[0]) {
    for (at[1] = 0; at[1] < n[1]; ++at[1]) {
      for (at[2] = 0; at[2] < n[2]; ++at[2]) {
        for (at[3] = 0; at[3] < n[3]; ++at[3]) visit(std::as_const(at));
      }
    }
  }
}

// The answer that a call must give. either: strides that do not nest may be refused, since overlap
// may take too long to decide.
enum class Answer { accept, refuse, either };

[[nodiscard]] Answer stricter(Answer a, Answer b);

// The elements of each destination view must be distinct and in no other view. Requires well-formed
// views within the buffer.
[[nodiscard]] Answer expected_of_sharing(std::span<const Strided> written,
                                         std::span<const Strided> read, const std::byte* buffer);

// The buffer with the views of a case, and its copy from before the call.
struct Memory {
  std::span<const std::byte> before;
  std::span<std::byte> after;
};

class Buffers {
 public:
  [[nodiscard]] std::span<std::byte> buffer() { return after_; }
  // Keeps a copy of the buffer. Must come before the call under test.
  [[nodiscard]] Memory keep() {
    before_ = after_;
    return {.before = before_, .after = after_};
  }

 private:
  alignas(64) std::array<std::byte, largest_buffer> after_{};
  alignas(64) std::array<std::byte, largest_buffer> before_{};
};

// Restores the view's bytes from the copy.
void put_back(const Strided& view, const Memory& memory);

// Fails unless every byte is unchanged. what: the requirement, for the message.
void check_unchanged(const Memory& memory, std::string_view what);

// Checks a refused call: its error is well-formed, `expected` allows it, and nothing was written.
void check_refused(const Error& error, Answer expected, const Memory& memory);

// Returns true if the call was accepted and may be. Checks a refused call.
[[nodiscard]] bool is_accepted(const Status& status, Answer expected, const Memory& memory);

}  // namespace rotary::fuzz
