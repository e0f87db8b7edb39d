// SPDX-License-Identifier: Apache-2.0
#include "cli/tensor_input.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"

namespace rotary::cli {
namespace {

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : file_(path) {}

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override { return file_.read(bytes); }
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override {
    return file_.bytes_left();
  }

 private:
  InputFile file_;
};

std::string_view axes_text(Layout layout) {
  switch (layout) {
    case Layout::bthd:
      return "[batch, tokens, heads, features]";
    case Layout::bhtd:
      return "[batch, heads, tokens, features]";
    case Layout::thd:
      return "[tokens, heads, features]";
  }
  return {};
}

DType dtype_of(std::string_view option, NpyType type) {
  for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
    if (type == npy_type(dtype)) return dtype;
  }
  throw Failure(
      ExitCode::usage,
      fmt::format(
          "{} must have the type '<f4', '<f2' or '<f8', got '{}'{}", option, descr_of(type),
          type == npy_type(DType::bf16) ? "; for bf16 held as uint16 pass --dtype bf16" : ""));
}

void check_type(std::string_view option, NpyType type, DType dtype) {
  if (type == npy_type(dtype)) return;
  throw Failure(ExitCode::usage,
                fmt::format("{} must have the type '{}' for --dtype {}, got '{}'", option,
                            descr_of(npy_type(dtype)), to_string(dtype), descr_of(type)));
}

Extents extents_of(const std::vector<std::int64_t>& shape, Layout layout) {
  switch (layout) {
    case Layout::bthd:
      return {.batch = shape[0], .tokens = shape[1], .heads = shape[2], .features = shape[3]};
    case Layout::bhtd:
      return {.batch = shape[0], .tokens = shape[2], .heads = shape[1], .features = shape[3]};
    case Layout::thd:
      return {.batch = 1, .tokens = shape[0], .heads = shape[1], .features = shape[2]};
  }
  return {};
}

template <class Number>
Positions positions_of_elements(const NpyArray& array) {
  if (array.shape.size() == 1) return positions_of(array.elements<Number>());
  const std::int64_t tokens = array.shape[1];  // also of no batch rows
  return TokenArray<Number>{.data = array.elements<Number>().data(),
                            .batch = array.shape[0],
                            .tokens = tokens,
                            .batch_stride = tokens};
}

}  // namespace

NpyType npy_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      break;
    case DType::bf16:
      return NpyType::u16;
    case DType::f16:
      return NpyType::f16;
    case DType::f64:
      return NpyType::f64;
  }
  return NpyType::f32;
}

Layout parse_layout(std::string_view text) {
  return choose<Layout>("--layout", text,
                        {{"bthd", Layout::bthd}, {"bhtd", Layout::bhtd}, {"thd", Layout::thd}});
}

DType parse_dtype(std::string_view text) {
  return choose<DType>(
      "--dtype", text,
      {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}, {"f64", DType::f64}});
}

DType parse_answer_dtype(const std::optional<std::string>& text,
                         const std::optional<std::string>& out) {
  const DType dtype = parse_dtype(text.value_or("f32"));
  if (out || dtype == DType::f32 || dtype == DType::f64) return dtype;
  throw Failure(ExitCode::usage,
                fmt::format("--dtype must be f32 or f64 without --out, got '{}'", *text));
}

NpyArray read_npy_file(const std::string& path) {
  FileSource file(path);
  return value_or_fail(read_npy(file), input_name(path));
}

NpyArray read_positions_file(const std::string& path) {
  const bool is_list = path != "-" && path.find_first_not_of("0123456789-:, ") == std::string::npos;
  std::error_code error;
  if (!is_list || std::filesystem::exists(path, error)) return read_npy_file(path);
  throw Failure(ExitCode::usage,
                fmt::format("--positions must be an NPY file here, got '{}'; of consecutive tokens "
                            "--first-position says where they begin",
                            path));
}

Tensor read_tensor(std::string_view option, const std::string& path, const TensorForm& form) {
  const Layout layout = form.layout;
  Tensor tensor{.array = read_npy_file(path), .extents = {}, .strides = {}};
  const std::size_t dimensions = layout == Layout::thd ? 3 : 4;
  if (tensor.array.shape.size() != dimensions) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} must have the shape {} of --layout, got {}", option,
                              axes_text(layout), shape_text(tensor.array.shape)));
  }
  if (form.dtype) check_type(option, tensor.array.type, *form.dtype);
  tensor.dtype = form.dtype ? *form.dtype : dtype_of(option, tensor.array.type);
  tensor.extents = extents_of(tensor.array.shape, layout);
  tensor.strides =
      layout == Layout::bhtd ? strides_bhtd(tensor.extents) : strides_bthd(tensor.extents);
  return tensor;
}

TokensTensor read_tokens(std::string_view option, const std::string& path,
                         std::optional<DType> dtype) {
  TokensTensor tensor{.array = read_npy_file(path), .extents = {}};
  const std::vector<std::int64_t>& shape = tensor.array.shape;
  if (shape.size() != 2 && shape.size() != 3) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} must have the shape [tokens, features] or [batch, tokens, "
                              "features], got {}",
                              option, shape_text(shape)));
  }
  if (dtype) check_type(option, tensor.array.type, *dtype);
  tensor.dtype = dtype ? *dtype : dtype_of(option, tensor.array.type);
  const std::size_t last = shape.size() - 1;
  tensor.extents = {.batch = shape.size() == 3 ? shape[0] : 1,
                    .tokens = shape[last - 1],
                    .features = shape[last]};
  return tensor;
}

Positions positions_from(const NpyArray& array, const Extents& extents, Layout layout) {
  const std::vector<std::int64_t>& shape = array.shape;
  const bool per_token = shape.size() == 1 && shape[0] == extents.tokens;
  const bool per_batch = layout != Layout::thd && shape.size() == 2 &&
                         (shape[0] == extents.batch || shape[0] == 1) && shape[1] == extents.tokens;
  if (!per_token && !per_batch) {
    const std::string batched =
        layout == Layout::thd
            ? ""
            : fmt::format(" or [batch, tokens] = [{}, {}]", extents.batch, extents.tokens);
    throw Failure(ExitCode::usage, fmt::format("--positions must have the shape [tokens] = [{}]{}, "
                                               "got {}",
                                               extents.tokens, batched, shape_text(shape)));
  }
  if (array.type == NpyType::i32) return positions_of_elements<std::int32_t>(array);
  if (array.type == NpyType::i64) return positions_of_elements<std::int64_t>(array);
  if (array.type == NpyType::f64) return positions_of_elements<double>(array);
  throw Failure(ExitCode::usage,
                fmt::format("--positions must be int32, int64 or float64 ('<i4', '<i8', '<f8'), "
                            "got '{}'",
                            descr_of(array.type)));
}

}  // namespace rotary::cli
