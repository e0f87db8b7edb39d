// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/file_window.hpp"

#include <algorithm>
#include <cstring>

namespace rotary {

bool FileWindow::has_left(std::uint64_t bytes) {
  if (failed()) return false;
  if (bytes <= left()) return true;
  malformed("the file must go on for ", bytes, " bytes, and ends after ", left());
  return false;
}

bool FileWindow::fill() {
  const std::uint64_t rest = source_.size_bytes - position_;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, rest));
  first_ = position_;
  filled_ = std::min(wanted, source_.read_at(source_.context, position_, window_->data(), wanted));
  if (filled_ == wanted) return true;
  malformed("the file must not change while it is read: it has ", source_.size_bytes,
            " bytes, and of the ", wanted, " that follow ", filled_, " could be read");
  filled_ = 0;
  return false;
}

void FileWindow::read(std::byte* bytes, std::size_t count) {
  if (!has_left(count)) return;
  while (count > 0) {
    const bool is_within = position_ >= first_ && position_ - first_ < filled_;
    if (!is_within && !fill()) return;
    const auto at = static_cast<std::size_t>(position_ - first_);
    const std::size_t part = std::min(count, filled_ - at);
    std::memcpy(bytes, window_->data() + at, part);
    bytes += part;
    count -= part;
    position_ += part;
  }
}

std::uint64_t FileWindow::number(std::size_t bytes) {
  std::array<std::byte, 8> read_bytes{};
  read(read_bytes.data(), bytes);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t at = order_ == std::endian::little ? bytes - 1 - i : i;
    value = value << 8 | std::to_integer<std::uint64_t>(read_bytes[at]);
  }
  return value;
}

std::string FileWindow::text(std::uint64_t bytes) {
  if (!has_left(bytes)) return {};
  std::string text(static_cast<std::size_t>(bytes), '\0');
  read(reinterpret_cast<std::byte*>(text.data()), text.size());
  return text;
}

void FileWindow::skip(std::uint64_t bytes) {
  if (has_left(bytes)) position_ += bytes;
}

}  // namespace rotary
