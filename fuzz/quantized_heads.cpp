// SPDX-License-Identifier: Apache-2.0
#include "fuzz/quantized_heads.hpp"

#include <cstring>

namespace rotary::fuzz {

Strided elements_of(const QuantizedHeadsView& heads) {
  const Extents& n = heads.extents;
  const Strides& s = heads.strides;
  return {.data = heads.data,
          .element_bytes = 1,
          .counts = {n.batch, n.tokens, n.heads, n.features},
          .strides = {s.batch, s.token, s.head, s.feature}};
}

Strided scales_of(const QuantizedHeadsView& heads) {
  const Extents& n = heads.extents;
  const ScaleStrides& s = heads.scale_strides;
  return {.data = heads.scales,
          .element_bytes = sizeof(float),
          .counts = {n.batch, n.tokens, n.heads, 1},
          .strides = {s.batch, s.token, s.head, 0}};
}

std::optional<QuantizedHeadsView> decode_quantized(Bytes& input, Places& places,
                                                   const Extents& extents) {
  const Extents& n = extents;
  QuantizedHeadsView heads{.extents = n};
  const Axes s =
      decode_strides(input, {n.batch, n.tokens, n.heads, n.features}, Features::adjacent);
  heads.strides = {.batch = s[0], .token = s[1], .head = s[2], .feature = s[3]};
  if (input.once_in(64)) heads.strides.feature = 2;
  const auto elements = places.place(input, elements_of(heads));
  if (!elements) return {};
  heads.data = reinterpret_cast<std::int8_t*>(*elements);
  const Axes f = decode_strides(input, {n.batch, n.tokens, n.heads, 1}, Features::adjacent);
  heads.scale_strides = {.batch = f[0], .token = f[1], .head = f[2]};
  const auto scales = places.place(input, scales_of(heads));
  if (!scales) return {};
  heads.scales = reinterpret_cast<float*>(*scales);
  return heads;
}

bool is_well_formed(const QuantizedHeadsView& heads) {
  const Strided elements = elements_of(heads);
  if (!is_well_formed(elements)) return false;
  if (heads.extents.features > 1 && heads.strides.feature != 1) return false;
  return is_empty(elements) || is_well_formed(scales_of(heads));
}

check::Int8Head head_at(const QuantizedHeadsView& heads, const std::byte* bytes,
                        const Memory& memory, Axes index) {
  check::Int8Head head;
  const std::byte* const buffer = memory.after.data();
  std::memcpy(&head.scale, bytes + place_of(scales_of(heads), buffer, index), sizeof head.scale);
  for (index[3] = 0; index[3] < heads.extents.features; ++index[3]) {
    head.elements.push_back(
        std::to_integer<std::int8_t>(bytes[place_of(elements_of(heads), buffer, index)]));
  }
  return head;
}

void put_back(const QuantizedHeadsView& heads, const Memory& memory) {
  put_back(elements_of(heads), memory);
  if (!is_empty(elements_of(heads))) put_back(scales_of(heads), memory);
}

}  // namespace rotary::fuzz
