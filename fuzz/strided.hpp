// SPDX-License-Identifier: Apache-2.0
// A common form for views of every kind, elements at strides, and the headers' requirements on
// their memory, decided by checking every element. All views of a case lie in one small buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "rotary/result.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary::fuzz {

inline constexpr std::size_t largest_buffer = std::size_t{1} << 14;

// One number for each axis: batch, token, head, feature. An axis that a view lacks has 1 index.
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
[[nodiscard]] Strided strided(const ConstMatrixView& matrix);
[[nodiscard]] Strided strided(std::span<const double> numbers);

[[nodiscard]] bool is_empty(const Strided& view);

// The elements that there are, each once: a stride of 0 names the same ones again.
[[nodiscard]] Strided without_repeats(Strided view);

// No more elements than the buffer has bytes: with strides of 0 a view that is read may have any
// number, and take any time.
[[nodiscard]] bool is_small(const Strided& view);

// Bytes that a view spans, relative to its data; requires counts of at least 1. Exact below 2^64,
// far beyond what the library allows.
struct Span {
  long double begin = 0;
  long double end = 0;
};
[[nodiscard]] Span span_of(const Strided& view);

// No size that the library allows: its limit is 2^62 bytes to either side.
[[nodiscard]] bool is_impossible(const Span& span);

// Every call asks this of every view: a dtype, counts of at least 0 and, where there is an element,
// a possible span and data that is aligned and not null.
[[nodiscard]] bool is_well_formed(const Strided& view);

// The same of views that relative encodings take, which have fewer than 2^60 elements, and fewer
// than 2^36 where a stride of 0 repeats them.
[[nodiscard]] bool is_countable(const Strided& view);

// The same elements in the same order: strides of an axis with one index do not count.
[[nodiscard]] bool are_same(const Strided& a, const Strided& b);

// The offset of an element in the buffer, in bytes.
[[nodiscard]] std::size_t place_of(const Strided& view, const std::byte* buffer, const Axes& index);

// Calls visit(index) for each element; for none if any count is 0.
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

// The answer that a call must give. either: strides that do not nest may be refused, because
// sharing may not be decidable in time.
enum class Answer { accept, refuse, either };

// The one of two requirements that refuses more.
[[nodiscard]] Answer stricter(Answer a, Answer b);

// Elements of each view that is written are distinct and belong to no other view. Requires views
// that are well-formed and lie in the buffer.
[[nodiscard]] Answer expected_of_sharing(std::span<const Strided> written,
                                         std::span<const Strided> read, const std::byte* buffer);

// The buffer that the views of a case lie in, and a copy of it from before the call.
struct Memory {
  std::span<const std::byte> before;
  std::span<std::byte> after;
};

// Both of them, before there is a case.
class Buffers {
 public:
  [[nodiscard]] std::span<std::byte> buffer() { return after_; }
  // From here on the buffer's bytes are those before the call.
  [[nodiscard]] Memory keep() {
    before_ = after_;
    return {.before = before_, .after = after_};
  }

 private:
  alignas(64) std::array<std::byte, largest_buffer> after_{};
  alignas(64) std::array<std::byte, largest_buffer> before_{};
};

// Makes the view's bytes what they were before.
void put_back(const Strided& view, const Memory& memory);

// Fails, saying what must hold, unless every byte is as it was.
void check_unchanged(const Memory& memory, std::string_view what);

// After a call that was refused: the error is one, the case allows it and nothing has been written.
void check_refused(const Error& error, Answer expected, const Memory& memory);

}  // namespace rotary::fuzz
