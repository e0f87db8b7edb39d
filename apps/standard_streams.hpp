// SPDX-License-Identifier: Apache-2.0
// Writes answers and messages, escaped (printable.hpp) and coloured.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rotary::cli {

// Owns a descriptor, unless it is that of a standard stream.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { static_cast<void>(close()); }

  [[nodiscard]] int number() const noexcept { return number_; }

  // Returns 0 or errno: some file systems report only here that the data did not fit.
  [[nodiscard]] int close() noexcept;

 private:
  int number_;
};

// Returns 0 or errno.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes) noexcept;

// Opens /dev/null for each closed descriptor of 0 to 2. Otherwise an opened file could get that
// number, and messages would go into it. Reading 0 and writing 1 and 2 still fail. Returns false
// without /dev/null. Must be called first.
[[nodiscard]] bool reserve_standard_descriptors() noexcept;

// Throws an I/O failure if the text cannot be written.
void write_standard_output(std::string_view text);

// Ignores failures.
void write_standard_error(std::string_view text) noexcept;

// Prints each warning on a line of standard error: "rotary inspect: warning: ...".
void print_warnings(std::string_view command, std::span<const std::string> warnings);

}  // namespace rotary::cli
