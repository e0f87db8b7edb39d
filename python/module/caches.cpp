// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "module/arrays.hpp"
#include "module/errors.hpp"
#include "module/module.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/shift.hpp"

namespace rotary::python {
namespace {

Slots slots_of_numbers(const Positions& numbers) {
  if (const auto* const first = std::get_if<ConsecutivePositions>(&numbers)) {
    return ConsecutiveSlots{.first = first->first};
  }
  if (const auto* const slots = std::get_if<TokenArray<std::int32_t>>(&numbers)) return *slots;
  if (const auto* const slots = std::get_if<TokenArray<std::int64_t>>(&numbers)) return *slots;
  raise("slots must be of int32 or int64, got float64");
}

// Reads (weight or None, weight_offset, epsilon, over, order). `weight` keeps the array alive.
std::optional<KeyNorm> norm_of(const nb::object& given, Array& weight) {
  if (given.is_none()) return {};
  const auto parts = nb::cast<nb::tuple>(given);
  KeyNorm key_norm{.norm = {}, .order = static_cast<NormOrder>(nb::cast<std::int32_t>(parts[4]))};
  HeadNorm& norm = key_norm.norm;
  if (!parts[0].is_none()) {
    weight = array_to_read(parts[0], "weight");
    std::int64_t size = 1;
    for (std::size_t i = 0; i < weight.axes; ++i) size *= weight.extents[i];
    if (size == 0) raise("weight must have a number for each feature, or be None, got none");
    norm.weight = {static_cast<const float*>(contiguous(weight, DType::f32, size, "weight")),
                   static_cast<std::size_t>(size)};
  }
  norm.weight_offset = nb::cast<double>(parts[1]);
  norm.epsilon = nb::cast<double>(parts[2]);
  norm.over = static_cast<NormOver>(nb::cast<std::int32_t>(parts[3]));
  return key_norm;
}

// Cache is KvCache or QuantizedKvCache; to_write is array_to_write or quantized_to_write.
template <class Cache, class ToWrite>
Cache cache_of(const nb::tuple& caches, std::string_view layout, ToWrite to_write) {
  Cache cache{.k = heads_of(to_write(caches[0], "k_cache"), layout, "k_cache")};
  if (!caches[1].is_none()) cache.v = heads_of(to_write(caches[1], "v_cache"), layout, "v_cache");
  return cache;
}

// caches and heads: (k, v), where v may be None. Both caches are arrays, or both are quantized.
// slots_and_norm: (slots, norm). rotations: None stores k unrotated.
void append_heads(const nb::tuple& caches, const nb::tuple& heads, std::string_view layout,
                  const nb::tuple& slots_and_norm, const nb::object& rotations) {
  const Array k = array_to_read(heads[0], "k");
  KvHeads sources{.k = heads_of(k, layout, "k")};
  Array v;
  if (!heads[1].is_none()) {
    v = array_to_read(heads[1], "v");
    sources.v = heads_of(v, layout, "v");
  }
  const TokenNumbers slots(slots_and_norm[0], "slots");
  Array weight;
  const AppendOptions options{
      .rotations = rotations.is_none() ? nullptr : &nb::cast<const Rotations&>(rotations),
      .k_norm = norm_of(slots_and_norm[1], weight)};
  const Slots where = slots_of_numbers(slots.positions);
  const auto append_to = [&](const auto& cache) { return append(cache, sources, where, options); };
  check(is_quantized(caches[0])
            ? append_to(cache_of<QuantizedKvCache>(caches, layout, quantized_to_write))
            : append_to(cache_of<KvCache>(caches, layout, array_to_write)));
}

// before and after: (frequencies, positions).
void shift_keys(nb::handle keys, std::string_view layout, const nb::tuple& before,
                const nb::tuple& after) {
  const TokenNumbers old_positions(before[1], "positions");
  const TokenNumbers new_positions(after[1], "positions");
  const auto shift_view = [&](const auto& view) {
    return shift(view, RotatedAt{nb::cast<const Frequencies&>(before[0]), old_positions.positions},
                 RotatedAt{nb::cast<const Frequencies&>(after[0]), new_positions.positions});
  };
  check(is_quantized(keys) ? shift_view(heads_of(quantized_to_write(keys, "keys"), layout, "keys"))
                           : shift_view(heads_of(array_to_write(keys, "keys"), layout, "keys")));
}

}  // namespace

void bind_caches(nb::module_& module) {
  module.def("append", append_heads, nb::arg("caches"), nb::arg("heads"), nb::arg("layout"),
             nb::arg("slots_and_norm"), nb::arg("rotations").none());
  module.def("shift", shift_keys);
}

}  // namespace rotary::python
