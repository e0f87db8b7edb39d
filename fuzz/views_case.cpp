// SPDX-License-Identifier: Apache-2.0
#include "fuzz/views_case.hpp"

#include <utility>

#include "fuzz/frequencies_cache.hpp"

namespace rotary::fuzz {
namespace {

using Numbers = std::array<std::int64_t, 4>;  // batch, token, head, feature

Extents decode_extents(Bytes& input, std::int64_t head_dim) {
  Extents extents{.batch = input.number(1, 3),
                  .tokens = input.number(1, 4),
                  .heads = input.number(1, 3),
                  .features = head_dim};
  const std::array<std::int64_t*, 4> each = {&extents.batch, &extents.tokens, &extents.heads,
                                             &extents.features};
  if (input.once_in(16)) *each[static_cast<std::size_t>(input.number(0, 3))] = 0;
  if (input.once_in(32)) *each[static_cast<std::size_t>(input.number(0, 3))] += input.number(-4, 1);
  if (input.once_in(64)) *each[static_cast<std::size_t>(input.number(0, 3))] = input.integer();
  return extents;
}

// Axes in any order, each stepping over those inside it, with gaps and backwards: strides that
// nest, unless a gap is negative.
Strides decode_ordered_strides(Bytes& input, const Extents& extents) {
  const Numbers counts = {extents.batch, extents.tokens, extents.heads, extents.features};
  std::array<std::size_t, 4> order = {3, 2, 1, 0};  // innermost first
  for (std::size_t i = 4; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(input.number(0, 7)) % i]);
  }
  Numbers strides{};
  std::int64_t reach = 1;
  for (const std::size_t axis : order) {
    const std::int64_t gap = input.once_in(4) ? input.number(-2, 3) : 0;
    const std::int64_t stride = reach + gap;
    strides[axis] = input.once_in(4) ? -stride : stride;
    const std::int64_t count = counts[axis] >= 1 && counts[axis] < 16 ? counts[axis] : 1;
    reach += (count - 1) * stride;
  }
  return {.batch = strides[0], .token = strides[1], .head = strides[2], .feature = strides[3]};
}

Strides decode_strides(Bytes& input, const Extents& extents) {
  const std::int64_t kind = input.number(0, 15);
  if (kind >= 6) return decode_ordered_strides(input, extents);
  const auto stride = [&] { return kind == 0 ? input.integer() : input.number(-12, 12); };
  const std::int64_t batch = stride();
  const std::int64_t token = stride();
  const std::int64_t head = stride();
  return {.batch = batch, .token = token, .head = head, .feature = stride()};
}

DType decode_dtype(Bytes& input) {
  if (input.once_in(64)) return static_cast<DType>(input.number(-1, 6));
  return static_cast<DType>(input.number(1, 4));
}

HeadWindow decode_window(Bytes& input) {
  const std::int64_t head_dim = input.number(2, 9);
  const std::int64_t first = input.once_in(2) ? input.number(0, head_dim - 2) : 0;
  const std::int64_t most_pairs = (head_dim - first) / 2;
  const std::int64_t pairs = input.once_in(2) ? input.number(1, most_pairs) : most_pairs;
  return {.head_dim = head_dim,
          .rotary_dim = 2 * pairs,
          .first_feature = first,
          .pairing = all_pairings[static_cast<std::size_t>(input.number(0, 2))]};
}

// Somewhere in the buffer where all of the view lies inside; false when there is no such place.
bool place(Bytes& input, std::byte* buffer, HeadsView& view) {
  constexpr std::int64_t for_alignment = 16;
  std::int64_t begin = 0;
  std::int64_t room = static_cast<std::int64_t>(buffer_bytes) - for_alignment;
  const auto& n = view.extents;
  const bool has_elements = n.batch > 0 && n.tokens > 0 && n.heads > 0 && n.features > 0;
  const Span span = has_elements ? span_of(view) : Span{};
  if (!is_impossible(span)) {
    if (span.end - span.begin > static_cast<long double>(room)) return false;
    begin = -static_cast<std::int64_t>(span.begin);
    room -= static_cast<std::int64_t>(span.end - span.begin);
  }
  const std::int64_t byte = (begin + input.number(0, 255) * 8 % (room + 1) + 7) / 8 * 8;
  view.data = buffer + byte;
  if (input.once_in(32)) view.data = buffer + byte + input.number(0, 7);
  if (input.once_in(64)) view.data = nullptr;
  return true;
}

// The second view: the same again, the same shifted, or one of its own.
bool decode_second(Bytes& input, std::byte* buffer, ViewsCase& views) {
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

bool is_empty(const Extents& n) {
  return n.batch == 0 || n.tokens == 0 || n.heads == 0 || n.features == 0;
}

std::size_t place_of(const ConstHeadsView& view, const std::byte* buffer, const HeadIndex& index,
                     std::int64_t feature) {
  const auto& s = view.strides;
  const std::int64_t elements =
      index.batch * s.batch + index.token * s.token + index.head * s.head + feature * s.feature;
  return static_cast<std::size_t>(static_cast<const std::byte*>(view.data) - buffer +
                                  elements * size_in_bytes(view.dtype));
}

Span span_of(const ConstHeadsView& view) {
  const Numbers counts = {view.extents.batch, view.extents.tokens, view.extents.heads,
                          view.extents.features};
  const Numbers strides = {view.strides.batch, view.strides.token, view.strides.head,
                           view.strides.feature};
  const auto size = static_cast<long double>(size_in_bytes(view.dtype));
  Span span{.begin = 0, .end = size};
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    const long double steps = static_cast<long double>(counts[axis]) - 1;
    const long double bytes = steps * static_cast<long double>(strides[axis]) * size;
    (bytes < 0 ? span.begin : span.end) += bytes;
  }
  return span;
}

bool is_impossible(const Span& span) { return span.begin <= -0x1p62L || span.end >= 0x1p62L; }

std::optional<ViewsCase> decode_views(Bytes& input, std::byte* buffer) {
  ViewsCase views{.window = decode_window(input)};
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

}  // namespace rotary::fuzz
