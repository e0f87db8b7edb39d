// SPDX-License-Identifier: Apache-2.0
// Keys or values in a cache, with their checks: elements of a DType, or int8 with a scale for each
// head and token.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {

// Data is void and Scale is float, or both are const.
template <class Data, class Scale>
struct BasicStoredHeads {
  Data* data = nullptr;
  std::optional<DType> dtype = {};  // absent: int8
  Extents extents = {};
  Strides strides = {};  // in elements
  Scale* scales = nullptr;
  ScaleStrides scale_strides = {};

  [[nodiscard]] bool quantized() const noexcept { return !dtype; }
  [[nodiscard]] std::int64_t element_bytes() const noexcept {
    return dtype ? size_in_bytes(*dtype) : 1;
  }
  // The dtype of the stored numbers: scale * int8 is float32.
  [[nodiscard]] DType number_dtype() const noexcept { return dtype.value_or(DType::f32); }

  // Requires a dtype.
  [[nodiscard]] StridedView<Data, Extents, Strides> view() const noexcept {
    return {data, number_dtype(), extents, strides};
  }

  // NOLINTNEXTLINE(google-explicit-constructor): heads to write are also heads to read
  operator BasicStoredHeads<const Data, const Scale>() const noexcept
      requires(!std::is_const_v<Data>) {
    return {data, dtype, extents, strides, scales, scale_strides};
  }
};
using StoredHeads = BasicStoredHeads<const void, const float>;
using WrittenHeads = BasicStoredHeads<void, float>;

template <class Data>
[[nodiscard]] auto stored(const StridedView<Data, Extents, Strides>& view) noexcept {
  using Scale = std::conditional_t<std::is_const_v<Data>, const float, float>;
  return BasicStoredHeads<Data, Scale>{
      .data = view.data, .dtype = view.dtype, .extents = view.extents, .strides = view.strides};
}
[[nodiscard]] inline StoredHeads stored(const ConstQuantizedHeadsView& view) noexcept {
  return {view.data, {}, view.extents, view.strides, view.scales, view.scale_strides};
}
[[nodiscard]] inline WrittenHeads stored(const QuantizedHeadsView& view) noexcept {
  return {view.data, {}, view.extents, view.strides, view.scales, view.scale_strides};
}

// Sets strides to 0 along extents of 1, also the strides of scales.
template <class Data, class Scale>
void drop_unused_strides(BasicStoredHeads<Data, Scale>& heads) noexcept {
  if (heads.extents.batch <= 1) heads.strides.batch = heads.scale_strides.batch = 0;
  if (heads.extents.tokens <= 1) heads.strides.token = heads.scale_strides.token = 0;
  if (heads.extents.heads <= 1) heads.strides.head = heads.scale_strides.head = 0;
  if (heads.extents.features <= 1) heads.strides.feature = 0;
}
template <class Data, class Scale>
[[nodiscard]] BasicStoredHeads<Data, Scale> without_unused_strides(
    BasicStoredHeads<Data, Scale> heads) noexcept {
  drop_unused_strides(heads);
  return heads;
}

// elements_of(), scales_of() and check_stored() are templates: checks need not copy mutable heads.
template <class Data, class Scale>
[[nodiscard]] ElementsView elements_of(const BasicStoredHeads<Data, Scale>& heads) noexcept {
  return {.data = heads.data,
          .element_bytes = heads.element_bytes(),
          .extents = heads.extents,
          .strides = heads.strides};
}

// Views the scales as heads of one feature.
template <class Data, class Scale>
[[nodiscard]] ConstHeadsView scales_of(const BasicStoredHeads<Data, Scale>& heads) noexcept {
  const Extents& n = heads.extents;
  const ScaleStrides& s = heads.scale_strides;
  return {.data = heads.scales,
          .dtype = DType::f32,
          .extents = {.batch = n.batch, .tokens = n.tokens, .heads = n.heads, .features = 1},
          .strides = {.batch = s.batch, .token = s.token, .head = s.head, .feature = 0}};
}

// The names of elements and scales in messages.
struct StoredNames {
  std::string_view elements;
  std::string_view scales;
};

// check_stored() and check_distinct() for heads in 8 bits.
[[nodiscard]] Status check_quantized(const StoredNames& names, const StoredHeads& heads);
[[nodiscard]] Status check_quantized_distinct(const StoredNames& names, const StoredHeads& heads);

// Checks the view and that its features are adjacent; for 8 bits also the scales, if any.
template <class Data, class Scale>
[[nodiscard]] Status check_stored(const StoredNames& names,
                                  const BasicStoredHeads<Data, Scale>& heads) {
  if (heads.quantized()) return check_quantized(names, heads);
  const ConstHeadsView view = heads.view();
  if (auto status = check_view(names.elements, view); !status) return status;
  return check_adjacent_features(names.elements, view);
}

// Checks that the elements and scales to write are distinct. Requires check_stored().
[[nodiscard]] inline Status check_distinct(const StoredNames& names, const WrittenHeads& heads) {
  if (heads.quantized()) return check_quantized_distinct(names, heads);
  return check_distinct(names.elements, heads.view());
}

}  // namespace rotary
