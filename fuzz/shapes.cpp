// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shapes.hpp"

#include <optional>
#include <utility>

namespace rotary::fuzz {

DType decode_dtype(Bytes& input) {
  if (input.once_in(64)) return static_cast<DType>(input.number(-1, 6));
  return static_cast<DType>(input.number(1, 4));
}

HeadWindow decode_window(Bytes& input, std::int64_t head_dim) {
  const std::int64_t first = input.once_in(2) ? input.number(0, head_dim - 2) : 0;
  const std::int64_t most_pairs = (head_dim - first) / 2;
  const std::int64_t pairs = input.once_in(2) ? input.number(1, most_pairs) : most_pairs;
  return {.head_dim = head_dim,
          .rotary_dim = 2 * pairs,
          .first_feature = first,
          .pairing = input.one_of(all_pairings)};
}

Axes decode_ordered_strides(Bytes& input, const Axes& counts, Features features) {
  constexpr std::int64_t largest_count = 256;       // if the buffer can hold it
  std::array<std::size_t, 4> order = {3, 2, 1, 0};  // innermost first
  const std::size_t first_free = features == Features::adjacent ? 1 : 0;
  for (std::size_t i = 4; i > first_free + 1; --i) {
    const std::size_t choices = i - first_free;
    std::swap(order[i - 1],
              order[first_free + static_cast<std::size_t>(input.number(0, 7)) % choices]);
  }
  Axes strides{};
  std::int64_t reach = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_free = i >= first_free;
    const std::int64_t gap = is_free && input.once_in(4) ? input.number(-2, 3) : 0;
    const std::int64_t stride = reach + gap;
    strides[order[i]] = is_free && input.once_in(4) ? -stride : stride;
    const std::int64_t count = counts[order[i]];
    reach += ((count >= 1 && count < largest_count ? count : 1) - 1) * stride;
  }
  return strides;
}

Axes decode_small_strides(Bytes& input) {
  Axes strides{};
  for (std::int64_t& stride : strides) stride = input.number(-12, 12);
  return strides;
}

Axes decode_wild_strides(Bytes& input) {
  Axes strides{};
  for (std::int64_t& stride : strides) stride = input.integer();
  return strides;
}

Axes decode_strides(Bytes& input, const Axes& counts, Features features) {
  const std::int64_t kind = input.number(0, 31);
  if (kind == 31) return decode_wild_strides(input);
  Axes strides =
      kind == 30 ? decode_small_strides(input) : decode_ordered_strides(input, counts, features);
  if (kind == 30 && features == Features::adjacent) strides[3] = 1;
  return strides;
}

void disturb(Bytes& input, std::initializer_list<std::int64_t*> extents) {
  const auto any = [&]() -> std::int64_t& {
    return *extents.begin()[static_cast<std::size_t>(input.number(0, 3)) % extents.size()];
  };
  if (input.once_in(16)) any() = 0;
  if (input.once_in(32)) any() += input.number(-4, 1);
  if (input.once_in(64)) any() = input.integer();
}

void disturb(Bytes& input, Extents& n) {
  disturb(input, {&n.batch, &n.tokens, &n.heads, &n.features});
}
void disturb(Bytes& input, ScoresExtents& n) {
  disturb(input, {&n.batch, &n.queries, &n.heads, &n.keys});
}
void disturb(Bytes& input, TokenExtents& n) { disturb(input, {&n.batch, &n.tokens, &n.features}); }

namespace {

// Bytes of a view before and after its data pointer; 0 if it has no element or cannot exist.
struct Extent {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// Returns nullopt if the view does not fit in `room` bytes.
std::optional<Extent> extent_of(const Strided& view, std::int64_t room) {
  const Span span = reach_of(view).value_or(Span{});
  if (span.end - span.begin > static_cast<long double>(room)) return {};
  return Extent{.before = -static_cast<std::int64_t>(span.begin),
                .after = static_cast<std::int64_t>(span.end)};
}

constexpr std::int64_t for_alignment = 16;

}  // namespace

std::optional<std::byte*> place(Bytes& input, std::span<std::byte> buffer, const Strided& view) {
  const std::int64_t all = static_cast<std::int64_t>(buffer.size()) - for_alignment;
  const auto extent = extent_of(view, all);
  if (!extent) return {};
  const std::int64_t begin = extent->before;
  const std::int64_t room = all - extent->before - extent->after;
  const std::int64_t byte = (begin + input.number(0, 255) * 8 % (room + 1) + 7) / 8 * 8;
  std::byte* data = buffer.data() + byte;
  if (input.once_in(32)) data = buffer.data() + byte + input.number(0, 7);
  if (input.once_in(64)) data = nullptr;
  return data;
}

std::optional<std::byte*> Places::place(Bytes& input, const Strided& view) {
  if (input.once_in(8)) return fuzz::place(input, buffer_, view);
  const auto left = buffer_.subspan(used_);
  const auto extent = extent_of(view, static_cast<std::int64_t>(left.size()) - 2 * for_alignment);
  if (!extent) return {};
  const std::int64_t gap = input.number(0, 1) * 8;
  const std::int64_t byte = (gap + extent->before + 7) / 8 * 8;
  std::byte* data = left.data() + byte;
  if (input.once_in(64)) data = left.data() + byte + input.number(0, 7);
  if (input.once_in(64)) data = nullptr;
  used_ += static_cast<std::size_t>((byte + extent->after + 7) / 8 * 8);
  return data;
}

}  // namespace rotary::fuzz
