// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/attend_case.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "tests/support/elements.hpp"

namespace rotary::fuzz {
namespace {

// Makes blocks of few slots. Sequences may share blocks and use them in any order.
void decode_pages(Placing& placing, AttendCase& to) {
  Bytes& input = placing.input;
  const std::int64_t slots = input.number(1, 5);
  const std::int64_t blocks = input.number(1, 6);
  const auto sequences = static_cast<std::int64_t>(to.listed.size());
  const std::int64_t per_sequence = (to.shape.keys + slots - 1) / slots + input.number(0, 1);
  BlockTable table{.sequences = sequences,
                   .blocks_of_sequence = per_sequence,
                   .stride = per_sequence + input.number(0, 2)};
  const std::int64_t count =
      sequences == 0 || per_sequence == 0 ? 0 : (sequences - 1) * table.stride + per_sequence;
  if (count > 0) {
    to.blocks = reinterpret_cast<std::int32_t*>(place_elements(placing, count, 4));
    table.blocks = to.blocks;
    for (std::int64_t i = 0; placing.has_room && i < count; ++i)
      to.blocks[i] = static_cast<std::int32_t>(i < 24 ? input.number(0, blocks - 1) : i % blocks);
  }
  to.table = table;
  to.k.extents.batch = to.v.extents.batch = blocks;
  to.k.extents.tokens = to.v.extents.tokens = slots;
}

std::int64_t columns_of(const AttendCase& of) {
  return of.k.extents.tokens * (of.table ? of.table->blocks_of_sequence : 1);
}

void decode_results(Placing& placing, AttendCase& to) {
  Bytes& input = placing.input;
  const AttentionShape& shape = to.shape;
  const std::int64_t asked = input.number(0, 7);
  ScoresExtents extents{
      .batch = shape.batch, .heads = shape.heads, .queries = shape.queries, .keys = 1};
  if (asked % 2 == 1) to.options.log_sum_exp = place_scores(placing, extents, Use::written);
  extents.keys = columns_of(to);
  if (asked / 2 == 1) to.options.weights = place_scores(placing, extents, Use::written);
}

HeadsView place_scales(Placing& placing, const Extents& of) {
  Extents n = of;
  n.features = 1;
  return place_heads(placing, DType::f32, n, Use::read);
}

// Extents of a mask. Each equals the scores' extent or is 1.
ScoresExtents decode_extents(Bytes& input, const AttendCase& of) {
  ScoresExtents n{of.shape.batch, of.shape.heads, of.shape.queries, columns_of(of)};
  const std::int64_t shared = input.number(0, 31);
  if (shared % 2 == 1) n.batch = 1;
  if (shared / 2 % 2 == 1) n.heads = 1;
  if (shared / 4 % 2 == 1) n.queries = 1;
  if (shared / 8 == 3) n.keys = 1;
  return n;
}

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

// A stride that no element uses may be any number, so the product may wrap.
ScoresStrides strides_of(const Strides& s, std::uint64_t bytes) {
  const auto in_bytes = [bytes](std::int64_t stride) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * bytes);
  };
  return {in_bytes(s.batch), in_bytes(s.head), in_bytes(s.token), in_bytes(s.feature)};
}

// Adds any of a softcap, an additive mask and a boolean mask.
void decode_masks(Placing& placing, AttendCase& to) {
  Bytes& input = placing.input;
  const std::int64_t kind = input.number(0, 15);
  if (kind % 2 == 1) {
    constexpr std::array caps = {30.0, 1.0, 0.25, 0x1p-64, 0x1p64, 5.0};
    to.options.softcap = input.one_of(caps);
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

}  // namespace

bool decode_attend(Bytes& input, Arena& arena, AttendCase& to) {
  Placing placing = begin_case(input, arena);
  to.shape = decode_shape(input);
  const AttentionShape& shape = to.shape;
  to.options.q_temperature = decode_temperature(input);
  const bool tempered = !std::holds_alternative<NoTemperature>(to.options.q_temperature);
  const std::int64_t lowest = tempered ? 0 : -(std::int64_t{1} << 60);
  const bool paged = input.once_in(3);
  const bool listed = paged || input.once_in(2) || (tempered && shape.keys < shape.queries);
  if (listed) to.listed = decode_sequences(input, shape, lowest);
  if (listed && !paged && to.listed.empty() && tempered) return false;
  to.options.mask = decode_mask(input);
  to.options.scale = decode_scale(input);
  to.k.extents = {shape.batch, shape.keys, shape.key_heads, shape.features};
  to.v.extents = {shape.batch, shape.keys, shape.key_heads, shape.value_features};
  if (paged) decode_pages(placing, to);
  const Extents queries{shape.batch, shape.queries, shape.heads, shape.features};
  Extents results = queries;
  results.features = shape.value_features;
  const DType dtype = decode_attention_dtype(input);
  const bool has_one_dtype = input.once_in(2);
  const auto next_dtype = [&] { return has_one_dtype ? dtype : decode_attention_dtype(input); };
  to.in_int8 = input.once_in(4);
  const auto key_dtype = [&] { return to.in_int8 ? DType::bf16 : next_dtype(); };
  to.q = place_heads(placing, dtype, queries, Use::read);
  to.k = place_heads(placing, key_dtype(), to.k.extents, Use::read);
  to.v = place_heads(placing, key_dtype(), to.v.extents, Use::read);
  if (to.in_int8) {
    to.k_scales = place_scales(placing, to.k.extents);
    to.v_scales = place_scales(placing, to.v.extents);
  }
  to.out = place_heads(placing, next_dtype(), results, Use::written);
  decode_results(placing, to);
  decode_encoding(placing, to);
  to.options.sequences = to.listed;
  if (placing.has_room) decode_masks(placing, to);
  if (!placing.has_room) return false;
  if (input.once_in(3)) spoil(input, to);
  return true;
}

}  // namespace rotary::fuzz
