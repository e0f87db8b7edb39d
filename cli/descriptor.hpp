// SPDX-License-Identifier: Apache-2.0
// Descriptors of files.
#pragma once

#include <string_view>

namespace rotary::cli {

// Owns one, unless it is that of a standard stream.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { static_cast<void>(close()); }

  [[nodiscard]] int number() const noexcept { return number_; }

  // 0, or errno: some file systems say here that what was written did not fit.
  [[nodiscard]] int close() noexcept;

 private:
  int number_;
};

// 0, or errno.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes) noexcept;

}  // namespace rotary::cli
