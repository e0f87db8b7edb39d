// SPDX-License-Identifier: Apache-2.0
// A softcap and masks of pairs for a case of attend().
#include <array>
#include <cstring>
#include <limits>

#include "fuzz/attention/attend_case.hpp"
#include "tests/support/elements.hpp"

namespace rotary::fuzz {
namespace {

// Each extent is that of the scores, or 1.
ScoresExtents decode_extents(Bytes& input, const AttendCase& of) {
  const std::int64_t columns =
      of.table ? of.k.extents.tokens * of.table->blocks_of_sequence : of.k.extents.tokens;
  ScoresExtents n{of.shape.batch, of.shape.heads, of.shape.queries, columns};
  const std::int64_t shared = input.number(0, 31);
  if (shared % 2 == 1) n.batch = 1;
  if (shared / 2 % 2 == 1) n.heads = 1;
  if (shared / 4 % 2 == 1) n.queries = 1;
  if (shared / 8 == 3) n.keys = 1;
  return n;
}

// Visits some elements of a view.
template <class Visit>
void for_some(const HeadsView& view, std::uint64_t seed, const Visit& visit) {
  const Extents& n = view.extents;
  for (std::int64_t i = 0; i < n.batch * n.tokens * n.heads * n.features; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    if (seed >> 60 > 4) continue;
    const std::int64_t row = i / n.features;
    const std::int64_t element = i % n.features * view.strides.feature +
                                 row % n.tokens * view.strides.token +
                                 row / n.tokens % n.heads * view.strides.head +
                                 row / n.tokens / n.heads * view.strides.batch;
    visit(static_cast<std::byte*>(view.data) + element * size_in_bytes(view.dtype));
  }
}

HeadsView place_mask(Placing& placing, DType dtype, const ScoresExtents& n) {
  return place_heads(placing, dtype, {n.batch, n.queries, n.heads, n.keys}, Use::read,
                     Features::anywhere);
}

// Strides that mean nothing may be any number, and may wrap.
ScoresStrides strides_of(const Strides& s, std::uint64_t bytes) {
  const auto in_bytes = [bytes](std::int64_t stride) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * bytes);
  };
  return {in_bytes(s.batch), in_bytes(s.head), in_bytes(s.token), in_bytes(s.feature)};
}

}  // namespace

void decode_masks(Placing& placing, AttendCase& to) {
  Bytes& input = placing.input;
  const std::int64_t kind = input.number(0, 15);
  if (kind % 2 == 1) {
    constexpr std::array caps = {30.0, 1.0, 0.25, 0x1p-64, 0x1p64, 5.0};
    to.options.softcap = caps[static_cast<std::size_t>(input.number(0, 5))];
  }
  if (kind / 2 % 2 == 1) {
    const ScoresExtents n = decode_extents(input, to);
    const HeadsView view = place_mask(placing, decode_attention_dtype(input), n);
    if (!placing.has_room) return;
    const std::uint64_t bits = test::bits_of(view.dtype, -std::numeric_limits<double>::infinity());
    for_some(view, input.byte(), [&](std::byte* element) {
      std::memcpy(element, &bits, static_cast<std::size_t>(size_in_bytes(view.dtype)));
    });
    to.options.additive_mask = {view.data, view.dtype, n, strides_of(view.strides, 1)};
  }
  if (kind / 4 % 2 == 1) {
    const ScoresExtents n = decode_extents(input, to);
    const HeadsView view = place_mask(placing, DType::bf16, n);  // two bytes for each boolean
    if (!placing.has_room) return;
    for_some(view, input.byte(), [](std::byte* element) { *element = std::byte{0}; });
    to.options.boolean_mask = {view.data, n, strides_of(view.strides, 2)};
  }
}

}  // namespace rotary::fuzz
