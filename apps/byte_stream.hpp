// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rotary::cli {

// Reads forward. The input may be endless.
class ByteStream {
 public:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  // Returns the number of bytes read: bytes.size(), or fewer at the end of the input.
  [[nodiscard]] virtual std::size_t read(std::span<std::byte> bytes) = 0;
  // Absent for a pipe.
  [[nodiscard]] virtual std::optional<std::uint64_t> bytes_left() const = 0;
};

class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::span<const std::byte> bytes) : bytes_(bytes) {}

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

}  // namespace rotary::cli
