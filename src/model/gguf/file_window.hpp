// SPDX-License-Identifier: Apache-2.0
// Reads a file front to back through a window of its bytes. Keeps the first error, so that callers
// need to check for errors only once at the end.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/message.hpp"
#include "rotary/gguf.hpp"
#include "rotary/result.hpp"

namespace rotary {

class FileWindow {
 public:
  explicit FileWindow(const ByteSource& source)
      : source_(source), window_(std::make_unique<std::array<std::byte, size>>()) {}

  // left(): the bytes up to the end of the file. Reading more is an error and gives 0.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return source_.size_bytes - position_; }

  void set_byte_order(std::endian order) noexcept { order_ = order; }

  // An unsigned integer of this many bytes, at most 8.
  [[nodiscard]] std::uint64_t number(std::size_t bytes);
  template <std::unsigned_integral T>
  [[nodiscard]] T number() {
    return static_cast<T>(number(sizeof(T)));
  }

  [[nodiscard]] std::string text(std::uint64_t bytes);
  void skip(std::uint64_t bytes);
  // Requires position <= the size of the file.
  void move_to(std::uint64_t position) noexcept { position_ = position; }

  // Adds an error whose message ends with the current position.
  template <class... Parts>
  void malformed(const Parts&... parts) {
    fail(malformed_input("GGUF: ", parts..., " (byte ", position_, ")"));
  }
  template <class... Parts>
  void not_supported(const Parts&... parts) {
    fail(unsupported("GGUF: ", parts..., " (byte ", position_, ")"));
  }
  [[nodiscard]] bool failed() const noexcept { return error_.has_value(); }
  // Requires failed().
  [[nodiscard]] const Error& error() const noexcept { return *error_; }

 private:
  static constexpr std::size_t size = std::size_t{1} << 15;

  void read(std::byte* bytes, std::size_t count);
  bool fill();
  [[nodiscard]] bool has_left(std::uint64_t bytes);
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  ByteSource source_;
  std::unique_ptr<std::array<std::byte, size>> window_;
  std::uint64_t first_ = 0;  // of the window, in the file
  std::size_t filled_ = 0;   // bytes of the window
  std::uint64_t position_ = 0;
  std::endian order_ = std::endian::little;
  std::optional<Error> error_;
};

}  // namespace rotary
