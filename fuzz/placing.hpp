// SPDX-License-Identifier: Apache-2.0
// Legal views of tensors in an arena: any order of axes, gaps, negative strides, strides of 0 in
// source views, and any strides for axes where they do not matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "check/views.hpp"
#include "fuzz/arena.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/noise.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

enum class Use { read, written };
enum class Innermost { adjacent, anywhere };

// The source of tensors. has_room turns false when one of them found no room.
struct Placing {
  Arena& arena;
  Bytes& input;
  Noise noise = Noise::activations;
  std::uint64_t seed = 0;
  bool has_room = true;
};

[[nodiscard]] HeadsView place_heads(Placing& placing, DType dtype, const Extents& n, Use use,
                                    Innermost innermost = Innermost::adjacent);
[[nodiscard]] ScoresView place_scores(Placing& placing, const ScoresExtents& n, Use use);

// Rows may lie in columns.
[[nodiscard]] ConstTableView place_matrix(Placing& placing, DType dtype, std::int64_t rows,
                                          std::int64_t columns);

// Contiguous room for `count` elements.
[[nodiscard]] std::byte* place_elements(Placing& placing, std::int64_t count,
                                        std::int64_t element_bytes);

// Bytes that a view spans; nullopt if it has no element, or spans more than the library allows.
[[nodiscard]] std::optional<Reach> reach_of(const ConstHeadsView& view);

using check::as_heads;

// Marks the bytes of all elements of a legal view as those that a call may write.
void allow_elements(Arena& arena, const ConstHeadsView& view);

}  // namespace rotary::fuzz
