// SPDX-License-Identifier: Apache-2.0
// Views of Python's arrays. Python passes an array as an object that exports DLPack or the buffer
// protocol, or as a tuple (address, dtype, shape, strides, owner). rotary/_arrays.py makes these
// tuples for torch tensors, whose DLPack export costs microseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "module/module.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::python {

inline constexpr std::size_t most_array_axes = 6;

// `data` is valid while this Array and the object that it was read from exist.
struct Array {
  void* data = nullptr;
  nb::dlpack::dtype type = {};
  std::size_t axes = 0;
  std::array<std::int64_t, most_array_axes> extents = {};
  std::array<std::int64_t, most_array_axes> strides = {};  // in elements
  nb::ndarray<nb::ro> exported = {};
};

// `what` names the argument in messages. The functions neither convert nor copy, so writes reach
// the caller's memory.
[[nodiscard]] Array array_to_read(nb::handle object, const char* what);
[[nodiscard]] Array array_to_write(nb::handle object, const char* what);

// uint16 means bf16, which NumPy cannot export; rotary/_arrays.py refuses any other uint16.
[[nodiscard]] DType dtype_of(const Array& array, const char* what);

// layout: one letter of "bthd" for each axis, in any order. A letter that it omits has extent 1.
[[nodiscard]] HeadsView heads_of(const Array& array, std::string_view layout, const char* what);

// int8 elements and their float32 scales.
struct QuantizedArray {
  Array elements = {};
  Array scales = {};
};

// True for a tuple (elements, scales), which rotary/_caches.py passes for QuantizedHeads.
[[nodiscard]] bool is_quantized(nb::handle object);
[[nodiscard]] QuantizedArray quantized_to_read(nb::handle object, const char* what);
[[nodiscard]] QuantizedArray quantized_to_write(nb::handle object, const char* what);

// layout: the elements' axes; scales have the same axes without the features.
[[nodiscard]] QuantizedHeadsView heads_of(const QuantizedArray& array, std::string_view layout,
                                          const char* what);

// layout: as for heads_of, with the letters of "bhqk".
[[nodiscard]] ScoresView scores_of(const Array& array, std::string_view layout, const char* what);

// cos and sin [batch, tokens, pairs], with the same dtype and strides.
[[nodiscard]] CosSinView rows_of(const Array& cos, const Array& sin);

// [tokens], [batch, tokens] or [axes, batch, tokens]; int32, int64 or float64.
[[nodiscard]] Positions positions_of_array(const Array& array, const char* what);

// Positions from (first, tokens) or from an array, which this keeps alive.
class TokenNumbers {
 public:
  TokenNumbers(nb::handle numbers, const char* what);

  Positions positions;

 private:
  Array array_ = {};
};

// The address of a contiguous array. Refuses another dtype or another number of elements.
[[nodiscard]] void* contiguous(const Array& array, DType dtype, std::int64_t size,
                               const char* what);

}  // namespace rotary::python
