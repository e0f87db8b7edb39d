// SPDX-License-Identifier: Apache-2.0
#include "fuzz/placing.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rotary::fuzz {
namespace {

using Numbers = std::array<std::int64_t, 4>;  // batch, token, head, feature

struct Request {
  std::int64_t element_bytes = 4;
  Use use = Use::read;
  Innermost innermost = Innermost::adjacent;
};

struct Placed {
  std::byte* data = nullptr;
  Numbers strides{};
};

bool is_empty(const Numbers& counts) {
  return std::any_of(counts.begin(), counts.end(), [](std::int64_t each) { return each == 0; });
}

// Innermost first; the features stay there where they have to be adjacent.
std::array<std::size_t, 4> decode_order(Bytes& input, Innermost innermost) {
  std::array<std::size_t, 4> order = {3, 2, 1, 0};
  const std::size_t fixed = innermost == Innermost::adjacent ? 1 : 0;
  auto bits = static_cast<std::size_t>(input.byte());
  for (std::size_t i = 4; i > fixed + 1; --i) {
    std::swap(order[i - 1], order[fixed + bits % (i - fixed)]);
    bits /= i - fixed;
  }
  return order;
}

// A stride of an axis with one index means nothing and may be any.
Numbers decode_strides(Bytes& input, const Numbers& counts, const Request& request) {
  Numbers strides{};
  std::int64_t reach = 1;
  const bool has_gaps = input.once_in(2);
  for (const std::size_t axis : decode_order(input, request.innermost)) {
    const bool adjacent = axis == 3 && request.innermost == Innermost::adjacent;
    const std::uint8_t kind = has_gaps && !adjacent ? input.byte() : 0;
    const std::int64_t stride = reach + kind % 4;
    strides[axis] = kind / 4 % 4 == 1 ? -stride : stride;
    if (kind / 16 == 1 && request.use == Use::read) strides[axis] = 0;
    if (kind / 16 == 2 && counts[axis] == 1) strides[axis] = input.integer();
    reach = stride * counts[axis];
  }
  return strides;
}

Reach reach_of(const Numbers& counts, const Numbers& strides, std::int64_t element_bytes) {
  Reach reach{.begin = 0, .end = element_bytes};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 1) continue;
    const std::int64_t bytes = (counts[i] - 1) * strides[i] * element_bytes;
    (bytes < 0 ? reach.begin : reach.end) += bytes;
  }
  return reach;
}

Placed place(Placing& placing, DType dtype, const Numbers& counts, const Request& request) {
  Placed placed;
  if (is_empty(counts)) {
    for (std::int64_t& stride : placed.strides) stride = placing.input.integer();
    if (request.innermost == Innermost::adjacent) placed.strides[3] = 1;
    return placed;
  }
  placed.strides = decode_strides(placing.input, counts, request);
  const Reach reach = reach_of(counts, placed.strides, request.element_bytes);
  const std::int64_t shift = placing.input.once_in(2) ? request.element_bytes : 0;
  placed.data = placing.arena.place(reach, shift);
  if (placed.data == nullptr) {
    placing.has_room = false;
    return placed;
  }
  fill(placing.arena.place_at(placing.arena.count() - 1), dtype, placing.noise, placing.seed);
  placing.seed += 77;
  return placed;
}

}  // namespace

HeadsView place_heads(Placing& placing, DType dtype, const Extents& n, Use use,
                      Innermost innermost) {
  const Placed placed =
      place(placing, dtype, {n.batch, n.tokens, n.heads, n.features},
            {.element_bytes = size_in_bytes(dtype), .use = use, .innermost = innermost});
  const Numbers& s = placed.strides;
  return {.data = placed.data, .dtype = dtype, .extents = n, .strides = {s[0], s[1], s[2], s[3]}};
}

ScoresView place_scores(Placing& placing, const ScoresExtents& n, Use use) {
  const HeadsView view = place_heads(placing, DType::f32, {n.batch, n.queries, n.heads, n.keys},
                                     use, Innermost::anywhere);
  const Strides& s = view.strides;
  return {.data = view.data,
          .dtype = DType::f32,
          .extents = n,
          .strides = {.batch = s.batch, .head = s.head, .query = s.token, .key = s.feature}};
}

ConstTableView place_matrix(Placing& placing, DType dtype, std::int64_t rows,
                            std::int64_t columns) {
  const HeadsView view =
      place_heads(placing, dtype, {.batch = 1, .tokens = rows, .heads = 1, .features = columns},
                  Use::read, Innermost::anywhere);
  return {.data = view.data,
          .dtype = dtype,
          .rows = rows,
          .features = columns,
          .row_stride = view.strides.token,
          .feature_stride = view.strides.feature};
}

std::byte* place_elements(Placing& placing, std::int64_t count, std::int64_t element_bytes) {
  std::byte* const data = placing.arena.place({.begin = 0, .end = count * element_bytes}, 0);
  if (data == nullptr) placing.has_room = false;
  return data;
}

std::optional<Reach> reach_of(const ConstHeadsView& view) {
  constexpr long double most = 0x1p62L;  // far beyond it numbers need not be exact
  const auto& n = view.extents;
  const auto& s = view.strides;
  const std::array axes = {std::pair(n.batch, s.batch), std::pair(n.tokens, s.token),
                           std::pair(n.heads, s.head), std::pair(n.features, s.feature)};
  const auto size = static_cast<long double>(size_in_bytes(view.dtype));
  long double begin = 0;
  long double end = size;
  for (const auto& [count, stride] : axes) {
    if (count <= 0) return {};
    const long double bytes =
        (static_cast<long double>(count) - 1) * static_cast<long double>(stride) * size;
    (bytes < 0 ? begin : end) += bytes;
  }
  if (begin <= -most || end >= most) return {};
  return Reach{.begin = static_cast<std::int64_t>(begin), .end = static_cast<std::int64_t>(end)};
}

void allow_elements(Arena& arena, const ConstHeadsView& view) {
  const auto& n = view.extents;
  const auto& s = view.strides;
  if (n.batch == 0 || n.tokens == 0 || n.heads == 0 || n.features == 0) return;
  const std::int64_t size = size_in_bytes(view.dtype);
  const auto* const data = static_cast<const std::byte*>(view.data);
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      for (std::int64_t h = 0; h < n.heads; ++h) {
        for (std::int64_t f = 0; f < n.features; ++f) {
          arena.allow(data + (b * s.batch + t * s.token + h * s.head + f * s.feature) * size,
                      static_cast<std::size_t>(size));
        }
      }
    }
  }
}

}  // namespace rotary::fuzz
