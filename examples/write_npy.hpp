// SPDX-License-Identifier: Apache-2.0
// Writes an array of a C or C++ engine to an .npy file, which NumPy and `rotary identify` read.
// Copy it into your program.
//
//   write_npy("q.npy", q, "<f4", {tokens, heads, head_dim});  // "<f2": half, "<u2": bf16
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>

// data: contiguous, in the shape's order, little-endian. Returns false on failure.
inline bool write_npy(const char* path, const void* data, const std::string& descr,
                      std::initializer_list<std::int64_t> shape) {
  auto bytes = static_cast<std::size_t>(descr.back() - '0');
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) {
    header += std::to_string(extent) + ", ";
    bytes *= static_cast<std::size_t>(extent);
  }
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
  const auto size = static_cast<unsigned>(header.size());
  header.insert(0, {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(size & 255),
                    static_cast<char>(size >> 8)});
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
                       std::fwrite(data, 1, bytes, file) == bytes;
  return (std::fclose(file) == 0) && written;
}
