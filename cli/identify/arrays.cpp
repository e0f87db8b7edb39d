// SPDX-License-Identifier: Apache-2.0
#include "cli/identify/arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/printable.hpp"
#include "apps/safetensors/safetensors.hpp"
#include "cli/npz/npz.hpp"
#include "cli/tensor_input.hpp"

namespace rotary::cli {
namespace {

// An array from any file, in the form of an .npy file; bf16 as u16.
struct NamedArray {
  NpyArray array;
  bool is_bf16 = false;
};

struct FileAndName {
  std::string path;
  std::string name;  // empty if the file has one array
};

struct OpenSafetensors {
  InputFile file;
  SafetensorsStart start;

  explicit OpenSafetensors(const std::string& path)
      : file(path), start(value_or_fail(read_safetensors_start(file), path)) {}
};

std::size_t chosen(std::string_view option, const FileAndName& wanted,
                   const std::vector<std::string>& names) {
  if (wanted.name.empty() && names.size() == 1) return 0;
  const auto found = std::ranges::find(names, wanted.name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  constexpr std::size_t most_shown = 20;
  std::vector<std::string> shown;
  for (const auto& name : std::span(names).first(std::min<std::size_t>(names.size(), most_shown)))
    shown.push_back(shown_name(name));
  std::string has = shown.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > most_shown) has += fmt::format(" and {} more", names.size() - most_shown);
  require(!wanted.name.empty(), "{} must name one of the arrays of {}, as {}:NAME; it has {}",
          option, wanted.path, wanted.path, has);
  fail_usage("{}: {} must have the array '{}'; it has {}", option, wanted.path, wanted.name, has);
}

std::vector<std::string> names_of(const SafetensorsHeader& header) {
  std::vector<std::string> names;
  names.reserve(header.tensors.size());
  for (const SafetensorsTensor& tensor : header.tensors) names.push_back(tensor.name);
  return names;
}

NamedArray read_safetensors(std::string_view option, const FileAndName& wanted,
                            const NpyLimit& limit) {
  const OpenSafetensors opened(wanted.path);
  const SafetensorsHeader& header = opened.start.header;
  const SafetensorsTensor& tensor = header.tensors[chosen(option, wanted, names_of(header))];
  constexpr std::array types = {std::pair("F32", NpyType::f32), std::pair("F64", NpyType::f64),
                                std::pair("F16", NpyType::f16), std::pair("BF16", NpyType::u16),
                                std::pair("I64", NpyType::i64), std::pair("I32", NpyType::i32)};
  const auto* const type =
      std::ranges::find_if(types, [&](const auto& each) { return each.first == tensor.type.name; });
  if (type == types.end())
    fail(ExitCode::unsupported, "{}: {} has the type {}; F32, F64, F16, BF16, I64 and I32 are read",
         option, shown_name(tensor.name), tensor.type.name);
  NamedArray named{.array = {.type = type->second, .shape = {}, .data = {}},
                   .is_bf16 = tensor.type.name == "BF16"};
  for (const std::uint64_t extent : tensor.shape)
    named.array.shape.push_back(static_cast<std::int64_t>(extent));
  if (elements_of(named.array.shape).value_or(UINT64_MAX) > limit.of(named.array.shape)) {
    fail(ExitCode::unsupported, "{}: {} must have at most {} elements here, got the shape {}",
         option, shown_name(tensor.name), limit.of(named.array.shape),
         shape_text(named.array.shape));
  }
  named.array.data.resize(tensor.size_in_bytes());
  const std::size_t got =
      opened.file.read_at(opened.start.bytes.size() + tensor.begin, named.array.data);
  if (got == named.array.data.size()) return named;
  fail(ExitCode::io, "{}: cannot be read to its end", wanted.path);
}

NamedArray read_named(std::string_view option, const std::string& path, const NpyLimit& limit) {
  FileAndName wanted{path, ""};
  for (const std::string_view ending : {".npz", ".safetensors"}) {
    const std::size_t at = path.rfind(fmt::format("{}:", ending));
    if (at == std::string::npos) continue;
    wanted = {path.substr(0, at + ending.size()), path.substr(at + ending.size() + 1)};
    break;
  }
  if (wanted.path.ends_with(".safetensors")) return read_safetensors(option, wanted, limit);
  if (!wanted.path.ends_with(".npz"))
    return {.array = read_npy_file(wanted.path, limit), .is_bf16 = false};
  const NpzFile file(wanted.path);
  return {.array = file.read(chosen(option, wanted, file.names()), limit), .is_bf16 = false};
}

double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double finite =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  const double magnitude = exponent < 31 ? finite : (fraction == 0 ? HUGE_VAL : std::nan(""));
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

double FloatArray::at(std::size_t i) const {
  const auto load = [&]<class T>(T value) {
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    return value;
  };
  if (dtype == DType::f64) return load(0.0);
  if (dtype == DType::f32) return static_cast<double>(load(0.0F));
  if (dtype == DType::f16) return half_value(load(std::uint16_t{}));
  const std::uint32_t bits = load(std::uint16_t{});
  return static_cast<double>(std::bit_cast<float>(bits << 16));
}

std::vector<double> FloatArray::doubles() const {
  std::vector<double> numbers(size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = at(i);
  return numbers;
}

FloatArray read_floats(std::string_view option, const std::string& path, std::optional<DType> dtype,
                       const NpyLimit& limit) {
  NamedArray named = read_named(option, path, limit);
  if (named.is_bf16 && !dtype) dtype = DType::bf16;
  FloatArray floats{.option = option,
                    .dtype = dtype_of(option, named.array.type, dtype),
                    .shape = std::move(named.array.shape),
                    .data = std::move(named.array.data)};
  for (std::size_t i = 0; i < floats.size(); ++i)
    check_element(option, floats.at(i), i, floats.shape);
  return floats;
}

IntegerArray read_integers(std::string_view option, const std::string& path) {
  const NamedArray named = read_named(option, path, most_observed);
  IntegerArray integers{.shape = named.array.shape, .numbers = {}};
  if (named.array.type == NpyType::i64) {
    const auto numbers = named.array.elements<std::int64_t>();
    integers.numbers.assign(numbers.begin(), numbers.end());
  } else if (named.array.type == NpyType::i32) {
    const auto numbers = named.array.elements<std::int32_t>();
    integers.numbers.assign(numbers.begin(), numbers.end());
  } else {
    fail_usage("{} must be int32 or int64, got '{}'", option, descr_of(named.array.type));
  }
  return integers;
}

PositionIds position_ids(const IntegerArray& array) {
  const auto& shape = array.shape;
  return {.numbers = array.numbers,
          .batch = shape.size() < 2 ? 1 : shape[shape.size() - 2],
          .axes = shape.size() < 3 ? 1 : shape[0]};
}

PairColumns pair_columns(std::size_t elements, std::size_t width,
                         const std::function<bool(std::size_t, std::size_t)>& same) {
  const std::size_t half = width / 2;
  const auto repeats = [&](std::size_t stride, std::size_t partner) {
    for (std::size_t row = 0; row < elements; row += width)
      for (std::size_t i = row; i < row + half * stride; i += stride)
        if (!same(i, i + partner)) return false;
    return true;
  };
  if (half == 0 || width % 2 != 0) return {width};
  if (repeats(1, half)) return {half};
  return repeats(2, 1) ? PairColumns{half, 2} : PairColumns{width};
}

bool has_array(const std::string& path, std::string_view name) {
  const auto names =
      path.ends_with(".npz") ? NpzFile(path).names() : names_of(OpenSafetensors(path).start.header);
  return std::ranges::find(names, name) != names.end();
}

}  // namespace rotary::cli
