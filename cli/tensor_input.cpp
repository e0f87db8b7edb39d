// SPDX-License-Identifier: Apache-2.0
#include "cli/tensor_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"

namespace rotary::cli {
namespace {

// The limit for tensors and their positions: 16 GiB of float32.
constexpr NpyLimit most_of_tensor{.elements = std::uint64_t{1} << 32};

std::string_view axes_text(Layout layout) {
  if (layout == Layout::thd) return "[tokens, heads, features]";
  return layout == Layout::bthd ? "[batch, tokens, heads, features]"
                                : "[batch, heads, tokens, features]";
}

std::string positions_shapes_text(const Extents& extents, Layout layout, std::int64_t axes) {
  const bool is_batched = layout != Layout::thd;
  const std::int64_t batch = extents.batch;
  const std::int64_t tokens = extents.tokens;
  std::vector<std::string> shapes = {fmt::format("[tokens] = [{}]", tokens)};
  if (axes > 1) {
    shapes.front() += ", the same on all axes,";
    shapes.push_back(fmt::format("[axes, tokens] = [{}, {}]", axes, tokens));
    if (is_batched)
      shapes.push_back(fmt::format("[axes, batch, tokens] = [{}, {}, {}]", axes, batch, tokens));
  } else if (is_batched) {
    shapes.push_back(fmt::format("[batch, tokens] = [{}, {}]", batch, tokens));
  }
  return fmt::format("{}", fmt::join(shapes, " or "));
}

Positions positions_from(const NpyArray& array, const Extents& extents, Layout layout,
                         std::int64_t axes) {
  const std::vector<std::int64_t>& shape = array.shape;
  const bool has_axes = axes > 1 && shape.size() >= 2;  // the first dimension counts axes
  const bool has_batch = shape.size() == (has_axes ? 3U : 2U);
  const std::size_t dimensions = 1U + (has_axes ? 1U : 0U) + (has_batch ? 1U : 0U);
  const std::int64_t batch = has_batch ? shape[dimensions - 2] : 1;
  const bool fits_batch =
      !has_batch || (layout != Layout::thd && (batch == extents.batch || batch == 1));
  require(shape.size() == dimensions && shape.back() == extents.tokens &&
              (!has_axes || shape.front() == axes) && fits_batch,
          "--positions must have the shape {}, got {}",
          positions_shapes_text(extents, layout, axes), shape_text(shape));
  const auto view = [&](auto elements) -> Positions {
    TokenArray<std::remove_const_t<typename decltype(elements)::element_type>> positions{
        .data = elements.data(), .tokens = extents.tokens};
    if (has_batch) {
      positions.batch = batch;
      positions.batch_stride = extents.tokens;
    }
    if (has_axes) {
      positions.axes = axes;
      positions.axis_stride = batch * extents.tokens;
    }
    return positions;
  };
  if (array.type == NpyType::i32) return view(array.elements<std::int32_t>());
  if (array.type == NpyType::i64) return view(array.elements<std::int64_t>());
  if (array.type == NpyType::f64) return view(array.elements<double>());
  fail_usage("--positions must be int32, int64 or float64 ('<i4', '<i8', '<f8'), got '{}'",
             descr_of(array.type));
}

}  // namespace

DType dtype_of(std::string_view option, NpyType type, std::optional<DType> asked) {
  if (asked) {
    require(type == npy_type(*asked), "{} must have the type '{}' for --dtype {}, got '{}'", option,
            descr_of(npy_type(*asked)), to_string(*asked), descr_of(type));
    return *asked;
  }
  for (const DType dtype : {DType::f32, DType::f16, DType::f64})
    if (type == npy_type(dtype)) return dtype;
  fail_usage("{} must have the type '<f4', '<f2' or '<f8', got '{}'{}", option, descr_of(type),
             type == npy_type(DType::bf16) ? "; for bf16 held as uint16 pass --dtype bf16" : "");
}

NpyType npy_type(DType dtype) {
  if (dtype == DType::bf16) return NpyType::u16;
  if (dtype == DType::f16) return NpyType::f16;
  return dtype == DType::f64 ? NpyType::f64 : NpyType::f32;
}

std::string_view to_string(Layout layout) noexcept {
  if (layout == Layout::thd) return "thd";
  return layout == Layout::bthd ? "bthd" : "bhtd";
}

DType answer_dtype(std::optional<DType> asked, const std::optional<std::string>& out) {
  const DType dtype = asked.value_or(DType::f32);
  require(out || dtype == DType::f32 || dtype == DType::f64,
          "--dtype must be f32 or f64 without --out, got '{}'", to_string(dtype));
  return dtype;
}

Json numbers_json(const NpyArray& array) {
  const std::vector<double> numbers = array.doubles();
  auto next = numbers.begin();
  const auto nested = [&](const auto& self, std::size_t axis) -> Json {
    if (axis == array.shape.size()) return *next++;
    Json elements = Json::array();
    for (std::int64_t i = 0; i < array.shape[axis]; ++i) elements.push_back(self(self, axis + 1));
    return elements;
  };
  return nested(nested, 0);
}

void check_element(std::string_view name, double number, std::size_t i,
                   const std::vector<std::int64_t>& shape) {
  if (std::abs(number) <= std::numeric_limits<float>::max()) return;
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    index[axis] = static_cast<std::int64_t>(i % extent);
    i /= extent;
  }
  fail(ExitCode::malformed_input, "{} must have finite numbers of float32's range, got {} at {}",
       name, number, shape_text(index));
}

NpyArray read_npy_file(const std::string& path, const NpyLimit& limit) {
  InputFile file(path);
  return value_or_fail(read_npy(file, limit), input_name(path));
}

Tensor read_tensor(std::string_view option, const std::string& path, const TensorForm& form) {
  const Layout layout = form.layout;
  Tensor tensor{.array = read_npy_file(path, most_of_tensor), .extents = {}, .strides = {}};
  require(tensor.array.shape.size() == (layout == Layout::thd ? 3 : 4),
          "{} must have the shape {} of --layout, got {}", option, axes_text(layout),
          shape_text(tensor.array.shape));
  tensor.dtype = dtype_of(option, tensor.array.type, form.dtype);
  const std::vector<std::int64_t>& shape = tensor.array.shape;
  const std::size_t batch = layout == Layout::thd ? 0 : 1;  // number of batch dimensions
  tensor.extents = {.batch = batch == 0 ? 1 : shape[0],
                    .tokens = shape[layout == Layout::bhtd ? 2 : batch],
                    .heads = shape[layout == Layout::bhtd ? 1 : batch + 1],
                    .features = shape.back()};
  tensor.strides =
      layout == Layout::bhtd ? strides_bhtd(tensor.extents) : strides_bthd(tensor.extents);
  return tensor;
}

TokensTensor read_tokens(std::string_view option, const std::string& path,
                         std::optional<DType> dtype) {
  TokensTensor tensor{.array = read_npy_file(path, most_of_tensor), .extents = {}};
  const std::vector<std::int64_t>& shape = tensor.array.shape;
  require(shape.size() == 2 || shape.size() == 3,
          "{} must have the shape [tokens, features] or [batch, tokens, features], got {}", option,
          shape_text(shape));
  tensor.dtype = dtype_of(option, tensor.array.type, dtype);
  const std::size_t last = shape.size() - 1;
  tensor.extents = {.batch = shape.size() == 3 ? shape[0] : 1,
                    .tokens = shape[last - 1],
                    .features = shape[last]};
  return tensor;
}

Positions TokenPlaces::of(const Extents& extents, Layout layout, std::int64_t axes) const {
  if (array) return positions_from(*array, extents, layout, axes);
  return ConsecutivePositions{.first = first, .tokens = extents.tokens};
}

Json TokenPlaces::json(const std::optional<std::string>& file) const {
  return {{"first", array ? Json() : Json(first)}, {"file", file}};
}

void refuse_position_list(const std::string& path) {
  const bool is_list = path != "-" && path.find_first_not_of("0123456789-:, ") == std::string::npos;
  std::error_code error;
  require(!is_list || std::filesystem::exists(path, error),
          "--positions must be an NPY file here, got '{}'; for consecutive tokens give "
          "--first-position instead",
          path);
}

TokenPlaces read_places(std::optional<std::int64_t> first_position,
                        const std::optional<std::string>& positions) {
  TokenPlaces places{.first = first_position.value_or(0), .array = {}};
  if (positions) refuse_position_list(*positions);
  if (positions) places.array = read_npy_file(*positions, most_of_tensor);
  return places;
}

}  // namespace rotary::cli
