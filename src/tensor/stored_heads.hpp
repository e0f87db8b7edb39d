// SPDX-License-Identifier: Apache-2.0
// Keys or values as a cache holds them: elements of a dtype, or int8 with a scale for each head and
// token; and the checks of the second form, which no DType names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "rotary/quantized_view.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {

// Data: void and Scale: float, or both const.
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
  // The dtype of the numbers that the elements stand for: scale * int8 is float32.
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

// Sets strides to 0 along extents of 1, those of scales too.
template <class Data, class Scale>
[[nodiscard]] BasicStoredHeads<Data, Scale> without_unused_strides(
    BasicStoredHeads<Data, Scale> heads) noexcept {
  const auto of =
      without_unused_strides(ConstHeadsView{.extents = heads.extents, .strides = heads.strides});
  heads.strides = of.strides;
  if (heads.extents.batch <= 1) heads.scale_strides.batch = 0;
  if (heads.extents.tokens <= 1) heads.scale_strides.token = 0;
  if (heads.extents.heads <= 1) heads.scale_strides.head = 0;
  return heads;
}

[[nodiscard]] inline ElementsView elements_of(const StoredHeads& heads) noexcept {
  return {.data = heads.data,
          .element_bytes = heads.element_bytes(),
          .extents = heads.extents,
          .strides = heads.strides};
}

// The scales as heads of one feature.
[[nodiscard]] ConstHeadsView scales_of(const StoredHeads& heads) noexcept;

// The names that messages give to elements and scales.
struct StoredNames {
  std::string_view elements;
  std::string_view scales;
};

// The checks of a view (view_checks.hpp), for adjacent features, and, where there are elements,
// those of its scales.
[[nodiscard]] Status check_stored(const StoredNames& names, const StoredHeads& heads);

// Checks that what is written is distinct, elements and scales. Requires check_stored().
[[nodiscard]] Status check_distinct(const StoredNames& names, const StoredHeads& heads);

}  // namespace rotary
