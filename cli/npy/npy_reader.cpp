// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/npy/npy.hpp"
#include "cli/npy/npy_header.hpp"

namespace rotary::cli {
namespace {

// Elements are read and written as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t most_header_bytes = std::size_t{64} << 10;

Error malformed(std::string message) { return {ErrorCode::malformed_input, std::move(message)}; }

std::size_t read_into(std::string& text, ByteSource& file) {
  return file.read(std::as_writable_bytes(std::span(text)));
}

// Version 1 has a 16-bit number, versions 2 and 3 have a 32-bit one.
Result<std::size_t> read_header_size(ByteSource& file) {
  std::string start(magic.size() + 2, '\0');
  start.resize(read_into(start, file));
  if (!start.starts_with(magic)) {
    return malformed(
        "an NPY file must begin with \\x93NUMPY, so this is not one; numpy.save() writes one");
  }
  if (start.size() < magic.size() + 2) return malformed("the NPY file ends before its version");
  const auto number_at = [](const std::string& text, std::size_t i) {
    return std::size_t{static_cast<unsigned char>(text[i])};
  };
  const std::size_t major = number_at(start, 6);
  const std::size_t minor = number_at(start, 7);
  if (major < 1 || major > 3 || minor != 0) {
    return Error{ErrorCode::unsupported,
                 fmt::format("the NPY version must be 1.0, 2.0 or 3.0, got {}.{}", major, minor)};
  }
  std::string length(major == 1 ? 2 : 4, '\0');
  if (read_into(length, file) < length.size()) {
    return malformed("the NPY file ends before the length of its header");
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < length.size(); ++i) size |= number_at(length, i) << (8 * i);
  if (size > most_header_bytes) {
    return malformed(
        fmt::format("the NPY header must have at most {} bytes, got {}", most_header_bytes, size));
  }
  return size;
}

Result<NpyHeader> read_header(ByteSource& file) {
  const auto size = read_header_size(file);
  if (!size) return size.error();
  std::string header(std::min<std::uint64_t>(*size, file.bytes_left().value_or(*size)), '\0');
  header.resize(read_into(header, file));
  if (header.size() < *size) {
    return malformed(fmt::format("the NPY header must have the {} bytes it announces, got {}",
                                 *size, header.size()));
  }
  return parse_npy_header(header);
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

Error wrong_size(const NpyHeader& header, std::uint64_t wanted, std::string_view got) {
  return malformed(fmt::format("the data of shape {} and type '{}' must have {} bytes, got {}",
                               shape_text(header.shape), descr_of(header.type), wanted, got));
}

// Memory grows with what arrives: a header that announces too much costs nothing.
Result<std::vector<std::byte>> read_elements(ByteSource& file, const NpyHeader& header,
                                             std::uint64_t wanted) {
  constexpr std::uint64_t first_bytes = std::uint64_t{1} << 20;
  const auto truncated = [&](std::uint64_t got) {
    return wrong_size(header, wanted, fmt::format("{}: truncated?", got));
  };
  const auto left = file.bytes_left();
  if (left && *left < wanted) return truncated(*left);
  if (left && *left > wanted) return wrong_size(header, wanted, fmt::format("{}", *left));
  std::vector<std::byte> data;
  while (data.size() < wanted) {
    const std::size_t old_size = data.size();
    data.resize(left ? wanted
                     : std::min(wanted, std::max<std::uint64_t>(first_bytes, 2 * old_size)));
    const auto rest = std::span(data).subspan(old_size);
    const std::size_t count = file.read(rest);
    if (count < rest.size()) return truncated(old_size + count);
  }
  std::byte beyond{};
  if (!left && file.read({&beyond, 1}) != 0) return wrong_size(header, wanted, "more");
  return data;
}

// A file that is in memory.
class Bytes : public ByteSource {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override {
    const auto taken = bytes_.first(std::min(bytes.size(), bytes_.size()));
    std::ranges::copy(taken, bytes.begin());
    bytes_ = bytes_.subspan(taken.size());
    return taken.size();
  }
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

Result<NpyArray> read_npy(ByteSource& file) {
  auto header = read_header(file);
  if (!header) return std::move(header).error();
  const auto bytes = data_bytes(*header);
  if (!bytes) return bytes.error();
  auto data = read_elements(file, *header, *bytes);
  if (!data) return std::move(data).error();
  return NpyArray{
      .type = header->type, .shape = std::move(header->shape), .data = *std::move(data)};
}

Result<NpyArray> read_npy(std::span<const std::byte> file) {
  Bytes source(file);
  return read_npy(source);
}

}  // namespace rotary::cli
