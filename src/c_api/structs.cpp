// SPDX-License-Identifier: Apache-2.0
#include "c_api/structs.hpp"

#include <span>

namespace rotary::c_api {
namespace {

// A larger struct_size is an error: the caller probably did not initialise it.
constexpr std::size_t largest_struct = 4096;

}  // namespace

Result<std::size_t> struct_size_of(std::string_view argument, const void* from,
                                   const StructLayout& layout) {
  std::size_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (size < layout.first_bytes || size > largest_struct) {
    return invalid_argument(argument, ".struct_size must be sizeof(", layout.name, "), ",
                            layout.bytes, " in this version and at least ", layout.first_bytes,
                            "; got ", size);
  }
  return size;
}

Result<std::size_t> known_bytes(std::string_view argument, const void* from,
                                const StructLayout& layout) {
  const auto given = struct_size_of(argument, from, layout);
  if (!given) return given.error();
  const std::size_t size = *given;
  if (size <= layout.bytes) return size;
  const auto* const bytes = static_cast<const unsigned char*>(from);
  const std::span unknown(bytes + layout.bytes, size - layout.bytes);
  if (std::any_of(unknown.begin(), unknown.end(), [](unsigned char byte) { return byte != 0; })) {
    return unsupported(argument, ": ", layout.name, " must be 0 beyond the ", layout.bytes,
                       " bytes that this version knows, got ", size,
                       " bytes with a later version's member in use");
  }
  return layout.bytes;
}

}  // namespace rotary::c_api
