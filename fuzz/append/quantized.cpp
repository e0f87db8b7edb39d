// SPDX-License-Identifier: Apache-2.0
#include "fuzz/append/quantized.hpp"

#include <span>
#include <vector>

#include "fuzz/append/stored.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

// Contiguous [batch, tokens, heads, features].
struct Floats {
  std::vector<float> numbers;
  Extents extents;

  [[nodiscard]] HeadsView view() {
    return {.data = numbers.data(),
            .dtype = DType::f32,
            .extents = extents,
            .strides = strides_bthd(extents)};
  }
  [[nodiscard]] std::span<const float> head(const Stored& of, std::int64_t head) const {
    const std::int64_t index =
        ((of.batch * extents.tokens + of.token) * extents.heads + head) * extents.features;
    return std::span(numbers).subspan(static_cast<std::size_t>(index),
                                      static_cast<std::size_t>(extents.features));
  }
};

// Heads of f32, bf16 or f16, as they were before the call.
Floats floats_of(const ConstHeadsView& heads, const Memory& memory) {
  Floats floats{.numbers = {}, .extents = heads.extents};
  const Strided view = strided(heads);
  for_each_element(view, [&](const Axes& index) {
    const std::size_t at = place_of(view, memory.after.data(), index);
    floats.numbers.push_back(static_cast<float>(value_at(heads.dtype, memory.before.data() + at)));
  });
  return floats;
}

Floats stored_keys(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  Floats keys = floats_of(append.heads.k, memory);
  if (rotations == nullptr && !append.k_norm) return keys;
  Floats cache{.numbers = std::vector<float>(keys.numbers.size()), .extents = keys.extents};
  const auto status = rotary::append({.k = cache.view()}, {.k = keys.view()}, ConsecutiveSlots{},
                                     {.rotations = rotations, .k_norm = append.k_norm});
  if (!status) fail("a cache of f32 must take what one in 8 bits takes", status.error().message);
  return cache;
}

void check_head(std::span<const float> numbers, const check::Int8Head& head) {
  if (!head.has_bits_of(check::in_int8(numbers)))
    fail("a head in 8 bits must be its numbers' z * 127/m to nearest even, and m/127");
}

void check_heads(const AppendCase& append, const QuantizedHeadsView& cache, const Floats& from,
                 const Memory& memory) {
  if (from.numbers.empty()) return;
  for_each_stored(append, [&](const Stored& at) {
    for (std::int64_t h = 0; h < from.extents.heads; ++h) {
      check_head(from.head(at, h),
                 head_at(cache, memory.after.data(), memory, {at.block, at.place, h, 0}));
    }
  });
}

}  // namespace

void check_quantized(const AppendCase& append, const Rotations* rotations, const Memory& memory) {
  const QuantizedKvCache& cache = *append.quantized;
  const auto turns_floats = [](const Rotations& by) {
    return by.tensors().value_or(DType::f32) == DType::f32;
  };
  if (rotations == nullptr || turns_floats(*rotations)) {
    check_heads(append, cache.k, stored_keys(append, rotations, memory), memory);
  }
  if (cache.v) check_heads(append, *cache.v, floats_of(*append.heads.v, memory), memory);
}

}  // namespace rotary::fuzz
