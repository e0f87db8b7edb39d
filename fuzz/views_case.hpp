// SPDX-License-Identifier: Apache-2.0
// Two views of one small buffer, decoded from an input, and what is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz/bytes.hpp"
#include "fuzz/noise.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

inline constexpr std::size_t buffer_bytes = 6144;
inline constexpr std::int64_t most_batch = 4;  // of the rotations
inline constexpr std::int64_t most_tokens = 5;

enum class Operation { rotate, rotate_qk };

struct ViewsCase {
  Operation operation = Operation::rotate;
  Direction direction = Direction::forward;
  HeadWindow window;
  std::int64_t spec_kind = 0;  // of frequencies_of
  RowDType rows = RowDType::f32;
  std::int64_t rotations_batch = 1;
  std::int64_t rotations_tokens = 0;
  std::int64_t first_position = 0;
  HeadsView dst = {};  // q of rotate_qk
  HeadsView src = {};  // k of rotate_qk
  std::uint64_t seed = 0;
  Noise noise = Noise::activations;
};

// Nothing when a view that rotate may accept would leave the buffer.
[[nodiscard]] std::optional<ViewsCase> decode_views(Bytes& input, std::byte* buffer);

// Bytes that a view spans, relative to its data; requires extents of at least 1. Exact below 2^64,
// far beyond what the library allows.
struct Span {
  long double begin = 0;
  long double end = 0;
};
[[nodiscard]] Span span_of(const ConstHeadsView& view);

[[nodiscard]] bool is_empty(const Extents& n);

struct HeadIndex {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;
};

// Nothing is visited when there is no element, whatever the other extents.
template <class Visit>
void for_each_head(const Extents& n, Visit visit) {
  if (is_empty(n)) return;
  for (HeadIndex at; at.batch < n.batch; ++at.batch) {
    for (at.token = 0; at.token < n.tokens; ++at.token) {
      for (at.head = 0; at.head < n.heads; ++at.head) visit(at);
    }
  }
}

// Where an element lies in the buffer.
[[nodiscard]] std::size_t place_of(const ConstHeadsView& view, const std::byte* buffer,
                                   const HeadIndex& index, std::int64_t feature);

// No size that the library allows: its limit is 2^62 bytes to either side.
[[nodiscard]] bool is_impossible(const Span& span);

}  // namespace rotary::fuzz
