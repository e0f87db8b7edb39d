// SPDX-License-Identifier: Apache-2.0
#include "apps/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <system_error>
#include <utility>

#include "apps/colour.hpp"
#include "apps/failure.hpp"
#include "apps/printable.hpp"
#include "apps/utf8.hpp"

namespace rotary::cli {
namespace {

// Writes in pieces, so that a long answer is not in memory twice. Allocates nothing for plain text,
// so that a command does not fail here after it wrote its files. Returns 0 or errno.
int write_printable(int descriptor, std::string_view text) {
  const bool colours = has_colour(descriptor);
  constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  while (!text.empty()) {
    const std::string_view whole = utf8_prefix(text, piece_bytes);
    const std::string_view piece = whole.empty() ? text.substr(0, piece_bytes) : whole;
    const auto is_plain = [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); };
    const bool needs_memory = colours || !std::ranges::all_of(piece, is_plain);
    const std::string shown = needs_memory ? printable_lines(piece) : std::string();
    const std::string_view written = needs_memory ? std::string_view(shown) : piece;
    const int error = write_all(descriptor, colours ? coloured(shown) : written);
    if (error != 0) return error;
    text.remove_prefix(piece.size());
  }
  return 0;
}

}  // namespace

int Descriptor::close() noexcept {
  const int number = std::exchange(number_, -1);
  // On EINTR Linux has closed the descriptor.
  return number <= STDERR_FILENO || ::close(number) == 0 || errno == EINTR ? 0 : errno;
}

int write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool reserve_standard_descriptors() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) != -1) continue;
    // open() takes the lowest free number, which is this one.
    if (::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) != number) return false;
  }
  return true;
}

void write_standard_output(std::string_view text) {
  if (const int error = write_printable(STDOUT_FILENO, text); error != 0) {
    fail(ExitCode::io, "standard output: cannot write it: {}",
         std::generic_category().message(error));
  }
}

void write_standard_error(std::string_view text) noexcept {
  try {
    static_cast<void>(write_printable(STDERR_FILENO, text));
  } catch (const std::exception&) {  // no memory for the escapes: raw text is unsafe
  }
}

void print_warnings(std::string_view command, std::span<const std::string> warnings) {
  for (const std::string& warning : warnings)
    write_standard_error(
        fmt::format("rotary {}: warning: {}\n", command, printable(shown_message(warning))));
}

}  // namespace rotary::cli
