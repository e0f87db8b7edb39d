// SPDX-License-Identifier: Apache-2.0
#include "module/arrays.hpp"

#include <string>

#include "module/errors.hpp"

namespace rotary::python {
namespace {

using nb::dlpack::dtype_code;

constexpr nb::dlpack::dtype type_of(dtype_code code, int bits) {
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
}
constexpr auto bf16_bits = type_of(dtype_code::UInt, 16);
constexpr auto int8 = type_of(dtype_code::Int, 8);

std::string text_of(const nb::dlpack::dtype& type) {
  constexpr std::array<std::string_view, 7> names = {"int",    "uint",    "float", "opaque",
                                                     "bfloat", "complex", "bool"};
  const std::string bits = std::to_string(type.bits);
  if (type.code < names.size()) return std::string(names[type.code]) + bits;
  return "dtype code " + std::to_string(type.code) + ", " + bits + " bits";
}

nb::dlpack::dtype type_named(std::string_view name) {
  if (name == "f32") return type_of(dtype_code::Float, 32);
  if (name == "f64") return type_of(dtype_code::Float, 64);
  if (name == "f16") return type_of(dtype_code::Float, 16);
  if (name == "bf16") return bf16_bits;
  if (name == "i8") return int8;
  raise("a tensor's dtype must be f32, f64, f16, bf16 or i8, got '" + std::string(name) + "'");
}

void check_axes(std::size_t axes, const char* what) {
  if (axes > most_array_axes) {
    raise(std::string(what) + " must have at most " + std::to_string(most_array_axes) +
          " axes, got " + std::to_string(axes));
  }
}

// Reads (address, dtype, shape, strides, owner).
Array array_of_tuple(const nb::tuple& parts, const char* what) {
  Array array;
  array.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(parts[0]));
  array.type = type_named(nb::cast<const char*>(parts[1]));
  const auto shape = nb::borrow<nb::tuple>(parts[2]);
  const auto strides = nb::borrow<nb::tuple>(parts[3]);
  array.axes = shape.size();
  check_axes(array.axes, what);
  for (std::size_t i = 0; i < array.axes; ++i) {
    array.extents[i] = nb::cast<std::int64_t>(shape[i]);
    array.strides[i] = nb::cast<std::int64_t>(strides[i]);
  }
  return array;
}

// The parts of a message about an object that is not an array.
struct Refusal {
  const char* wanted;
  const char* hint;
};

template <class Exported>
Array array_of(nb::handle object, const char* what, const Refusal& refusal) {
  if (nb::isinstance<nb::tuple>(object)) return array_of_tuple(nb::borrow<nb::tuple>(object), what);
  Exported exported;
  if (!nb::try_cast(object, exported, false)) {
    const auto name = nb::cast<std::string>(nb::borrow(object.type()).attr("__name__"));
    throw nb::type_error(
        (std::string(what) + refusal.wanted + " in memory of the CPU, got " + name + refusal.hint)
            .c_str());
  }
  Array array;
  array.axes = exported.ndim();
  check_axes(array.axes, what);
  array.data = const_cast<void*>(static_cast<const void*>(exported.data()));
  array.type = exported.dtype();
  for (std::size_t i = 0; i < array.axes; ++i) {
    array.extents[i] = static_cast<std::int64_t>(exported.shape(i));
    array.strides[i] = exported.stride(i);
  }
  array.exported = nb::ndarray<nb::ro>(exported);
  return array;
}

// Returns the axis that layout gives to each letter of `letters`, or -1.
std::array<int, 4> axes_of(const Array& array, std::string_view layout, std::string_view letters,
                           const char* what) {
  const auto refuse = [&] {
    raise("layout must name each of " + std::to_string(array.axes) + " axes of " + what +
          " once, by letters of '" + std::string(letters) + "'; got '" + std::string(layout) + "'");
  };
  std::array<int, 4> axes = {-1, -1, -1, -1};
  if (layout.size() != array.axes) refuse();
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const auto letter = letters.find(layout[i]);
    if (letter == std::string_view::npos || axes[letter] != -1) refuse();
    axes[letter] = static_cast<int>(i);
  }
  return axes;
}

std::int64_t extent(const Array& array, int axis) {
  return axis < 0 ? 1 : array.extents[static_cast<std::size_t>(axis)];
}
std::int64_t stride(const Array& array, int axis) {
  return axis < 0 ? 0 : array.strides[static_cast<std::size_t>(axis)];
}

Extents extents_of(const Array& array, const std::array<int, 4>& axis) {
  return {extent(array, axis[0]), extent(array, axis[1]), extent(array, axis[2]),
          extent(array, axis[3])};
}
Strides strides_of(const Array& array, const std::array<int, 4>& axis) {
  return {stride(array, axis[0]), stride(array, axis[1]), stride(array, axis[2]),
          axis[3] < 0 ? 1 : stride(array, axis[3])};
}

template <class Number>
TokenArray<Number> tokens_of(const Array& array) {
  TokenArray<Number> tokens{.data = static_cast<const Number*>(array.data)};
  const std::size_t last = array.axes - 1;
  tokens.tokens = array.extents[last];
  tokens.token_stride = array.strides[last];
  if (array.axes >= 2) {
    tokens.batch = array.extents[last - 1];
    tokens.batch_stride = array.strides[last - 1];
  }
  if (array.axes == 3) {
    tokens.axes = array.extents[0];
    tokens.axis_stride = array.strides[0];
  }
  return tokens;
}

}  // namespace

Array array_to_read(nb::handle object, const char* what) {
  return array_of<nb::ndarray<nb::ro, nb::device::cpu>>(object, what, {" must be an array", ""});
}

Array array_to_write(nb::handle object, const char* what) {
  return array_of<nb::ndarray<nb::device::cpu>>(
      object, what, {" must be a writable array", "; it may be read-only"});
}

DType dtype_of(const Array& array, const char* what) {
  if (array.type == type_of(dtype_code::Float, 32)) return DType::f32;
  if (array.type == type_of(dtype_code::Float, 64)) return DType::f64;
  if (array.type == type_of(dtype_code::Float, 16)) return DType::f16;
  if (array.type == bf16_bits || array.type == type_of(dtype_code::Bfloat, 16)) return DType::bf16;
  raise(std::string(what) + " must be of float32, float64, float16 or bfloat16, got " +
        text_of(array.type));
}

HeadsView heads_of(const Array& array, std::string_view layout, const char* what) {
  const auto axis = axes_of(array, layout, "bthd", what);
  return {array.data, dtype_of(array, what), extents_of(array, axis), strides_of(array, axis)};
}

bool is_quantized(nb::handle object) {
  return nb::isinstance<nb::tuple>(object) && nb::len(object) == 2;
}

QuantizedArray quantized_to_read(nb::handle object, const char* what) {
  return {array_to_read(object[0], what), array_to_read(object[1], what)};
}

QuantizedArray quantized_to_write(nb::handle object, const char* what) {
  return {array_to_write(object[0], what), array_to_write(object[1], what)};
}

QuantizedHeadsView heads_of(const QuantizedArray& array, std::string_view layout,
                            const char* what) {
  const auto& [elements, scales] = array;
  const std::string name(what);
  if (!(elements.type == int8)) {
    raise(name + ".elements must be of int8, got " + text_of(elements.type));
  }
  if (!(scales.type == type_of(dtype_code::Float, 32))) {
    raise(name + ".scales must be of float32, got " + text_of(scales.type));
  }
  const auto axis = axes_of(elements, layout, "bthd", what);
  std::string heads(layout);
  std::erase(heads, 'd');
  const auto scale_axis = axes_of(scales, heads, "bthd", (name + ".scales").c_str());
  const Extents extents = extents_of(elements, axis);
  Extents of_scales = extents_of(scales, scale_axis);
  of_scales.features = extents.features;
  if (of_scales != extents) raise(name + ".scales must have the axes of elements but the features");
  const Strides at = strides_of(scales, scale_axis);
  return {.data = static_cast<std::int8_t*>(elements.data),
          .scales = static_cast<float*>(scales.data),
          .extents = extents,
          .strides = strides_of(elements, axis),
          .scale_strides = {.batch = at.batch, .token = at.token, .head = at.head}};
}

ScoresView scores_of(const Array& array, std::string_view layout, const char* what) {
  const auto axis = axes_of(array, layout, "bhqk", what);
  return {array.data,
          dtype_of(array, what),
          {extent(array, axis[0]), extent(array, axis[1]), extent(array, axis[2]),
           extent(array, axis[3])},
          {stride(array, axis[0]), stride(array, axis[1]), stride(array, axis[2]),
           stride(array, axis[3])}};
}

CosSinView rows_of(const Array& cos, const Array& sin) {
  if (cos.axes != 3 || sin.axes != 3 || cos.extents != sin.extents || cos.strides != sin.strides ||
      !(cos.type == sin.type)) {
    raise("cos and sin must be [batch, tokens, pairs] of one dtype and with the same strides");
  }
  return {.cos = cos.data,
          .sin = sin.data,
          .dtype = dtype_of(cos, "cos"),
          .batch = cos.extents[0],
          .tokens = cos.extents[1],
          .batch_stride = cos.strides[0],
          .token_stride = cos.strides[1],
          .pair_stride = cos.strides[2]};
}

TokenNumbers::TokenNumbers(nb::handle numbers, const char* what) {
  if (nb::isinstance<nb::tuple>(numbers)) {
    const auto pair = nb::borrow<nb::tuple>(numbers);
    positions = ConsecutivePositions{.first = nb::cast<std::int64_t>(pair[0]),
                                     .tokens = nb::cast<std::int64_t>(pair[1])};
    return;
  }
  array_ = array_to_read(numbers, what);
  positions = positions_of_array(array_, what);
}

Positions positions_of_array(const Array& array, const char* what) {
  if (array.axes < 1 || array.axes > 3) {
    raise(std::string(what) +
          " must be [tokens], [batch, tokens] or [axes, batch, tokens], got an array of " +
          std::to_string(array.axes) + " axes");
  }
  if (array.type == type_of(dtype_code::Int, 64)) return tokens_of<std::int64_t>(array);
  if (array.type == type_of(dtype_code::Int, 32)) return tokens_of<std::int32_t>(array);
  if (array.type == type_of(dtype_code::Float, 64)) return tokens_of<double>(array);
  raise(std::string(what) + " must be of int32, int64 or float64, got " + text_of(array.type));
}

void* contiguous(const Array& array, DType dtype, std::int64_t size, const char* what) {
  std::int64_t expected = 1;
  for (std::size_t i = array.axes; i-- > 0;) {
    if (size != 0 && array.strides[i] != expected && array.extents[i] != 1) {
      raise(std::string(what) + " must be contiguous");
    }
    expected *= array.extents[i];
  }
  if (expected != size || dtype_of(array, what) != dtype) {
    raise(std::string(what) + " must have " + std::to_string(size) + " elements of " +
          std::string(to_string(dtype)) + ", got " + std::to_string(expected) + " of " +
          text_of(array.type));
  }
  return array.data;
}

}  // namespace rotary::python
