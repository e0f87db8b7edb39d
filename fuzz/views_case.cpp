// SPDX-License-Identifier: Apache-2.0

#include "fuzz/views_case.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/frequencies_cache.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "fuzz/turned.hpp"

namespace rotary::fuzz {

namespace {

Extents decode_extents(Bytes& input, std::int64_t head_dim) {
  Extents extents{.batch = input.number(1, 3),
                  .tokens = input.number(1, 4),
                  .heads = input.number(1, 3),
                  .features = head_dim};
  const std::array<std::int64_t*, 4> each = {&extents.batch, &extents.tokens, &extents.heads,
                                             &extents.features};
  disturb(input, each);
  return extents;
}

Strides decode_strides(Bytes& input, const Extents& extents) {
  const std::int64_t kind = input.number(0, 15);
  Axes strides;
  if (kind == 0) {
    strides = decode_wild_strides(input);
  } else if (kind < 6) {
    strides = decode_small_strides(input);
  } else {
    const Axes counts = {extents.batch, extents.tokens, extents.heads, extents.features};
    strides = decode_ordered_strides(input, counts, Features::anywhere);
  }
  return {.batch = strides[0], .token = strides[1], .head = strides[2], .feature = strides[3]};
}

bool place(Bytes& input, std::span<std::byte> buffer, HeadsView& view) {
  const auto data = fuzz::place(input, buffer, strided(view));
  if (data) view.data = *data;
  return data.has_value();
}

// The second view: the same one, the same one shifted, or another one.
bool decode_second(Bytes& input, std::span<std::byte> buffer, ViewsCase& views) {
  const std::int64_t kind = input.number(0, 7);
  views.src = views.dst;
  if (kind <= 2) return true;
  if (kind <= 4) return place(input, buffer, views.src);
  if (input.once_in(16)) views.src.dtype = decode_dtype(input);
  if (views.operation == Operation::rotate_qk) views.src.extents.heads = input.number(0, 3);
  if (input.once_in(16)) views.src.extents = decode_extents(input, views.window.head_dim);
  views.src.strides = decode_strides(input, views.src.extents);
  return place(input, buffer, views.src);
}

}  // namespace

std::optional<ViewsCase> decode_views(Bytes& input, std::span<std::byte> buffer) {
  ViewsCase views{.window = decode_window(input, input.number(2, 9))};
  views.operation = input.once_in(4) ? Operation::rotate_qk : Operation::rotate;
  views.direction = static_cast<Direction>(input.once_in(64) ? 7 : input.number(1, 3));
  views.spec_kind = input.number(0, spec_kinds - 1);
  views.first_position = input.integer();
  views.seed = input.bits();
  views.noise = input.once_in(3) ? Noise::any : Noise::activations;
  views.dst.dtype = decode_dtype(input);
  views.dst.extents = decode_extents(input, views.window.head_dim);
  views.dst.strides = decode_strides(input, views.dst.extents);
  views.rows = views.dst.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
  if (input.once_in(64)) views.rows = RowDType::f64;
  const auto& n = views.dst.extents;
  const bool rows_for_each_batch = input.once_in(3) && n.batch >= 1 && n.batch <= most_batch;
  views.rotations_batch = rows_for_each_batch ? n.batch : 1;
  views.rotations_tokens = n.tokens >= 0 && n.tokens <= most_tokens ? n.tokens : 1;
  if (!place(input, buffer, views.dst) || !decode_second(input, buffer, views)) return {};
  return views;
}

namespace {

// Two views, each valid alone, must share no element. A destination must not repeat one.
Answer expected_of_elements(const ViewsCase& views, const std::byte* buffer) {
  const std::array both = {strided(views.dst), strided(views.src)};
  const std::span all(both);
  const bool in_place = views.operation == Operation::rotate &&
                        views.dst.dtype == views.src.dtype && are_same(both[0], both[1]);
  if (views.operation == Operation::rotate_qk) return expected_of_sharing(all, {}, buffer);
  return expected_of_sharing(all.first(1), in_place ? all.first(0) : all.last(1), buffer);
}

bool are_bad_together(const ViewsCase& views) {
  if (views.operation == Operation::rotate) {
    return views.src.dtype != views.dst.dtype || views.src.extents != views.dst.extents;
  }
  return views.src.extents.batch != views.dst.extents.batch;
}

}  // namespace

Answer expected_answer(const ViewsCase& views, const Rotations& rotations,
                       const std::byte* buffer) {
  const auto direction = static_cast<std::int32_t>(views.direction);
  if (direction < 1 || direction > 3) return Answer::refuse;
  for (const ConstHeadsView& view : {ConstHeadsView(views.dst), ConstHeadsView(views.src)}) {
    if (!is_well_formed(strided(view)) || !fits(view, rotations)) return Answer::refuse;
  }
  if (are_bad_together(views)) return Answer::refuse;
  return expected_of_elements(views, buffer);
}

void check_written(const ViewsCase& views, const Rotations& rotations, const Memory& memory) {
  const bool both = views.operation == Operation::rotate_qk;
  const ConstHeadsView first_source = both ? views.dst : views.src;
  check_turned({.before = first_source, .after = views.dst, .direction = views.direction},
               rotations, memory);
  if (both) {
    check_turned({.before = views.src, .after = views.src, .direction = views.direction}, rotations,
                 memory);
    put_back(strided(views.src), memory);
  }
  put_back(strided(views.dst), memory);
  check_unchanged(memory, "bytes that belong to no destination must stay");
}

}  // namespace rotary::fuzz
