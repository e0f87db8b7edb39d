// SPDX-License-Identifier: Apache-2.0
// Places legal views of tensors in an arena: any order of axes, gaps, negative strides, strides of
// 0 in source views, and any strides for axes of extent 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fuzz/arena.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/shapes.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

enum class Use { read, written };

// Places tensors in memory. has_room becomes false when one does not fit.
struct Placing {
  Arena& arena;
  Bytes& input;
  Noise noise = Noise::activations;
  std::uint64_t seed = 0;
  bool has_room = true;
};

[[nodiscard]] HeadsView place_heads(Placing& placing, DType dtype, const Extents& n, Use use,
                                    Features features = Features::adjacent);
[[nodiscard]] ScoresView place_scores(Placing& placing, const ScoresExtents& n, Use use);

// Places a matrix whose rows, or whose columns, are contiguous.
[[nodiscard]] ConstTableView place_matrix(Placing& placing, DType dtype, std::int64_t rows,
                                          std::int64_t columns);

// Contiguous room for `count` elements.
[[nodiscard]] std::byte* place_elements(Placing& placing, std::int64_t count,
                                        std::int64_t element_bytes);

}  // namespace rotary::fuzz
