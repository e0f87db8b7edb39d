// SPDX-License-Identifier: Apache-2.0
#include "cli/npy/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace rotary::cli {
namespace {

struct TypeRow {
  std::string_view descr;
  std::size_t bytes;
};

constexpr std::array<TypeRow, 7> types = {{
    {"<f2", 2},
    {"<f4", 4},
    {"<f8", 8},
    {"<c8", 8},
    {"<u2", 2},
    {"<i4", 4},
    {"<i8", 8},
}};

}  // namespace

std::size_t size_in_bytes(NpyType type) noexcept {
  return types[static_cast<std::size_t>(type)].bytes;
}

std::string_view descr_of(NpyType type) noexcept {
  return types[static_cast<std::size_t>(type)].descr;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<double> NpyArray::doubles() const {
  if (type == NpyType::f64) {
    const auto numbers = elements<double>();
    return {numbers.begin(), numbers.end()};
  }
  if (type != NpyType::f32) return {};
  const auto numbers = elements<float>();
  return {numbers.begin(), numbers.end()};
}

std::string write_npy(NpyType type, std::span<const std::int64_t> shape,
                      std::span<const std::byte> data) {
  constexpr std::size_t prefix_bytes = 10;  // magic, version, 16-bit length
  constexpr std::size_t alignment_bytes = 64;
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr_of(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t unpadded = prefix_bytes + header.size() + 1;
  header.append((alignment_bytes - unpadded % alignment_bytes) % alignment_bytes, ' ');
  header += '\n';

  std::string file("\x93NUMPY\x01\x00", 8);
  file.reserve(prefix_bytes + header.size() + data.size());
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(data.data()), data.size());
  return file;
}

}  // namespace rotary::cli
