// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "cli/npy/npy.hpp"
#include "cli/npy/npy_header.hpp"

namespace rotary::cli {
namespace {

// Elements are read and written as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t most_header_bytes = std::size_t{64} << 10;

Error malformed(std::string message) { return {ErrorCode::malformed_input, std::move(message)}; }

struct HeaderPlace {
  std::size_t offset = 0;
  std::size_t size = 0;
};

// Version 1 has a 16-bit length, versions 2 and 3 a 32-bit one.
Result<HeaderPlace> find_header(std::string_view file) {
  constexpr std::size_t version_end = magic.size() + 2;
  if (!file.starts_with(magic)) {
    return malformed("an NPY file must begin with \\x93NUMPY, so this is not one");
  }
  if (file.size() < version_end) return malformed("the NPY file ends before its version");
  const auto byte_at = [file](std::size_t i) { return static_cast<unsigned char>(file[i]); };
  const unsigned major = byte_at(6);
  const unsigned minor = byte_at(7);
  if (major < 1 || major > 3 || minor != 0) {
    return Error{ErrorCode::unsupported,
                 fmt::format("the NPY version must be 1.0, 2.0 or 3.0, got {}.{}", major, minor)};
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (file.size() - version_end < length_bytes) {
    return malformed("the NPY file ends before the length of its header");
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    size |= std::size_t{byte_at(version_end + i)} << (8 * i);
  }
  if (size > most_header_bytes) {
    return malformed(
        fmt::format("the NPY header must have at most {} bytes, got {}", most_header_bytes, size));
  }
  const std::size_t offset = version_end + length_bytes;
  if (size > file.size() - offset) {
    return malformed(fmt::format("the NPY header must have the {} bytes it announces, got {}", size,
                                 file.size() - offset));
  }
  return HeaderPlace{.offset = offset, .size = size};
}

// Dimensions of 0 count as 1 for the overflow check, so that every stride derived from the shape is
// safe too, whatever the order of the dimensions.
Result<std::uint64_t> data_bytes(const NpyHeader& header) {
  std::uint64_t bytes = size_in_bytes(header.type);
  bool empty = false;
  for (const std::int64_t dimension : header.shape) {
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(dimension, 1));
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > INT64_MAX) {
      return malformed(fmt::format("the shape must describe fewer than 2^63 bytes, got {}",
                                   shape_text(header.shape)));
    }
    empty = empty || dimension == 0;
  }
  return empty ? 0 : bytes;
}

}  // namespace

Result<NpyArray> read_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto place = find_header(text);
  if (!place) return place.error();
  auto header = parse_npy_header(text.substr(place->offset, place->size));
  if (!header) return std::move(header).error();
  const auto bytes = data_bytes(*header);
  if (!bytes) return bytes.error();
  const auto data = file.subspan(place->offset + place->size);
  if (data.size() != *bytes) {
    return malformed(fmt::format("the data of shape {} and type '{}' must have {} bytes, got {}{}",
                                 shape_text(header->shape), descr_of(header->type), *bytes,
                                 data.size(), data.size() < *bytes ? ": truncated?" : ""));
  }
  return NpyArray{.type = header->type,
                  .shape = std::move(header->shape),
                  .data = std::vector<std::byte>(data.begin(), data.end())};
}

}  // namespace rotary::cli
