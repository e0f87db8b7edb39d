// SPDX-License-Identifier: Apache-2.0
#include "fuzz/placing.hpp"

#include <array>
#include <utility>

namespace rotary::fuzz {
namespace {

// The order of the axes, innermost first. Adjacent features stay innermost.
std::array<std::size_t, 4> decode_order(Bytes& input, Features features) {
  std::array<std::size_t, 4> order = {3, 2, 1, 0};
  const std::size_t fixed = features == Features::adjacent ? 1 : 0;
  auto bits = static_cast<std::size_t>(input.byte());
  for (std::size_t i = 4; i > fixed + 1; --i) {
    std::swap(order[i - 1], order[fixed + bits % (i - fixed)]);
    bits /= i - fixed;
  }
  return order;
}

// An axis with one index may have any stride.
Axes decode_legal_strides(Bytes& input, const Axes& counts, Use use, Features features) {
  Axes strides{};
  std::int64_t reach = 1;
  const bool has_gaps = input.once_in(2);
  for (const std::size_t axis : decode_order(input, features)) {
    const bool adjacent = axis == 3 && features == Features::adjacent;
    const std::uint8_t kind = has_gaps && !adjacent ? input.byte() : 0;
    const std::int64_t stride = reach + kind % 4;
    strides[axis] = kind / 4 % 4 == 1 ? -stride : stride;
    if (kind / 16 == 1 && use == Use::read) strides[axis] = 0;
    if (kind / 16 == 2 && counts[axis] == 1) strides[axis] = input.integer();
    reach = stride * counts[axis];
  }
  return strides;
}

// Gives a view its strides and returns its data.
std::byte* place(Placing& placing, Strided& view, DType dtype, Use use, Features features) {
  Bytes& input = placing.input;
  if (is_empty(view)) {
    for (std::int64_t& stride : view.strides) stride = input.integer();
    if (features == Features::adjacent) view.strides[3] = 1;
    return nullptr;
  }
  view.strides = decode_legal_strides(input, view.counts, use, features);
  const std::int64_t shift = input.once_in(2) ? view.element_bytes : 0;
  std::byte* const data = placing.arena.place(span_of(view), shift);
  if (data == nullptr) {
    placing.has_room = false;
    return nullptr;
  }
  fill(placing.arena.latest(), dtype, placing.noise, placing.seed);
  placing.seed += 77;
  return data;
}

template <class View>
View placed(Placing& placing, View view, Use use, Features features) {
  Strided all = strided(view);
  view.data = place(placing, all, view.dtype, use, features);
  set_strides(view, all.strides);
  return view;
}

}  // namespace

HeadsView place_heads(Placing& placing, DType dtype, const Extents& n, Use use, Features features) {
  return placed(placing, HeadsView{.dtype = dtype, .extents = n}, use, features);
}

ScoresView place_scores(Placing& placing, const ScoresExtents& n, Use use) {
  return placed(placing, ScoresView{.dtype = DType::f32, .extents = n}, use, Features::anywhere);
}

ConstTableView place_matrix(Placing& placing, DType dtype, std::int64_t rows,
                            std::int64_t columns) {
  return placed(placing, ConstTableView{.dtype = dtype, .rows = rows, .features = columns},
                Use::read, Features::anywhere);
}

std::byte* place_elements(Placing& placing, std::int64_t count, std::int64_t element_bytes) {
  const Strided numbers{
      .element_bytes = element_bytes, .counts = {1, 1, 1, count}, .strides = {0, 0, 0, 1}};
  std::byte* const data = placing.arena.place(span_of(numbers), 0);
  if (data == nullptr) placing.has_room = false;
  return data;
}

}  // namespace rotary::fuzz
