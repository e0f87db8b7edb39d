// SPDX-License-Identifier: Apache-2.0
// Descriptors of files, and the standard streams. All text leaves the tool here, with escapes for
// what a terminal would obey (cli/printable.hpp), and with colours where colour.hpp says so; line
// ends stay.
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

// Descriptors 0 to 2 that are closed: the next file that is opened would get such a number, and
// messages would land in it. They become /dev/null, opened so that reading the first and writing
// the others still fails. False where there is no /dev/null. Called before anything is opened.
[[nodiscard]] bool reserve_standard_descriptors() noexcept;

// Failure: I/O.
void write_standard_output(std::string_view text);

// Nothing changes where nobody listens.
void write_standard_error(std::string_view text) noexcept;

// A line for each on standard error: "rotary inspect: warning: ..."; nothing else about the
// command changes.
void print_warnings(std::string_view command, std::span<const std::string> warnings);

}  // namespace rotary::cli
