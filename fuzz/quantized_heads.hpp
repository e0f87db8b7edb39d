// SPDX-License-Identifier: Apache-2.0
// int8 heads: elements and scales, both decoded from an input.
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

// Decodes strides and addresses of elements and scales. Features are usually adjacent. Returns
// nullopt if one does not fit in the buffer.
[[nodiscard]] std::optional<QuantizedHeadsView> decode_quantized(Bytes& input, Places& places,
                                                                 const Extents& extents);

// True if elements and scales may be written. A call then refuses them only if they share memory.
[[nodiscard]] bool is_well_formed(const QuantizedHeadsView& heads);

// A head in `bytes`, which is the buffer or its copy from before the call.
[[nodiscard]] check::Int8Head head_at(const QuantizedHeadsView& heads, const std::byte* bytes,
                                      const Memory& memory, Axes index);

void put_back(const QuantizedHeadsView& heads, const Memory& memory);

}  // namespace rotary::fuzz
