// SPDX-License-Identifier: Apache-2.0
// Standard streams: all text leaves the tool here, escaped (printable.hpp) and coloured.
#pragma once

#include <span>
#include <string>
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

// Opens /dev/null for closed descriptors 0 to 2: else the next opened file gets such a number, and
// the messages. Reading 0 and writing 1 and 2 still fail. False without /dev/null. Called first.
[[nodiscard]] bool reserve_standard_descriptors() noexcept;

// Failure: I/O.
void write_standard_output(std::string_view text);

// Ignores failures.
void write_standard_error(std::string_view text) noexcept;

// A line each on standard error: "rotary inspect: warning: ...".
void print_warnings(std::string_view command, std::span<const std::string> warnings);

}  // namespace rotary::cli
