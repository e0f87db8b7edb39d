// SPDX-License-Identifier: Apache-2.0
// Heads in 8 bits of a case: their two views, and both decoded from an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "check/keys.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

[[nodiscard]] Strided elements_of(const QuantizedHeadsView& heads);
[[nodiscard]] Strided scales_of(const QuantizedHeadsView& heads);

// Strides of elements and scales, of which features are mostly adjacent, and their places. nullopt
// if one does not fit in the buffer.
[[nodiscard]] std::optional<QuantizedHeadsView> decode_quantized(Bytes& input, Places& places,
                                                                 const Extents& extents);

// Whether elements and scales are views that a call may write: it may refuse no more of them but
// for what they share.
[[nodiscard]] bool is_well_formed(const QuantizedHeadsView& heads);

// A head as it lies in `bytes`: the buffer, or its copy from before the call.
[[nodiscard]] check::Int8Head head_at(const QuantizedHeadsView& heads, const std::byte* bytes,
                                      const Memory& memory, Axes index);

// Restores elements and scales.
void put_back(const QuantizedHeadsView& heads, const Memory& memory);

}  // namespace rotary::fuzz
