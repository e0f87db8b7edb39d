// SPDX-License-Identifier: Apache-2.0
// Builds NPY files from parts that may be invalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "apps/byte_stream.hpp"
#include "apps/npy/npy.hpp"
#include "rotary/result.hpp"

namespace rotary::cli::test {

[[nodiscard]] inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
  return text;
}

// Writes header.size() into the length field, whose width depends on the version.
[[nodiscard]] inline std::string npy_file(std::string_view header, std::string_view data,
                                          int major_version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(major_version) + '\0' +
         little_endian(header.size(), major_version == 1 ? 2 : 4) + std::string(header) +
         std::string(data);
}

[[nodiscard]] inline std::string npy_header(std::string_view descr, std::string_view shape) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }\n";
}

inline constexpr NpyLimit any_number{.elements = UINT64_MAX};

[[nodiscard]] inline Result<NpyArray> read_text(std::string_view file,
                                                const NpyLimit& limit = any_number) {
  MemoryStream stream(std::as_bytes(std::span(file)));
  return read_npy(stream, limit);
}

}  // namespace rotary::cli::test
