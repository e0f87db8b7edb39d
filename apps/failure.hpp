// SPDX-License-Identifier: Apache-2.0
// A failing command throws a Failure. main() prints the failure and exits with the failure's code.
// The library returns errors as values instead.
#pragma once

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "apps/printable.hpp"
#include "rotary/result.hpp"

namespace rotary::cli {

// The numbers are part of the tool's interface, because scripts depend on them (docs/tool.md).
enum class ExitCode : int {
  ok = 0,
  check_failed = 1,
  usage = 2,
  malformed_input = 3,
  io = 4,
  unsupported = 5,
  unexplained = 6,
  unknown = 7,
  internal = 70,
};

struct ExitCodeFacts {
  ExitCode code;
  std::string_view name;  // the error code in JSON
  std::string_view meaning;
};

inline constexpr std::array<ExitCodeFacts, 9> exit_codes = {{
    {ExitCode::ok, "ok", "ok"},
    {ExitCode::check_failed, "check_failed", "a check failed"},
    {ExitCode::usage, "usage", "usage: the command line is wrong or asks for the impossible"},
    {ExitCode::malformed_input, "malformed_input",
     "malformed input: a file is not what its format requires"},
    {ExitCode::io, "io", "I/O: a file cannot be read or written"},
    {ExitCode::unsupported, "unsupported",
     "unsupported: well-formed, but this version or machine cannot do it"},
    {ExitCode::unexplained, "unexplained",
     "unexplained: nothing that identify knows explains the numbers"},
    {ExitCode::unknown, "unknown",
     "unknown: no difference is known, but one of the two engines was never checked"},
    {ExitCode::internal, "internal", "a bug in rotary, or out of memory"},
}};

[[nodiscard]] constexpr std::string_view to_string(ExitCode exit_code) noexcept {
  for (const ExitCodeFacts& facts : exit_codes)
    if (facts.code == exit_code) return facts.name;
  return "internal";
}

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode exit_code, const std::string& message)
      : std::runtime_error(shown_message(message)), exit_code_(exit_code) {}

  [[nodiscard]] ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  ExitCode exit_code_;
};

template <class... Values>
[[noreturn]] void fail(ExitCode code, fmt::format_string<Values...> message, Values&&... values) {
  throw Failure(code, fmt::format(message, std::forward<Values>(values)...));
}

template <class... Values>
[[noreturn]] void fail_usage(fmt::format_string<Values...> message, Values&&... values) {
  fail(ExitCode::usage, message, std::forward<Values>(values)...);
}

template <class... Values>
void require(bool holds, fmt::format_string<Values...> message, Values&&... values) {
  if (!holds) fail_usage(message, std::forward<Values>(values)...);
}

[[nodiscard]] constexpr ExitCode exit_code_of(ErrorCode code) noexcept {
  if (code == ErrorCode::invalid_argument) return ExitCode::usage;
  if (code == ErrorCode::malformed_input) return ExitCode::malformed_input;
  return code == ErrorCode::unsupported ? ExitCode::unsupported : ExitCode::internal;
}

// Converts a library error. The message begins with the subject, if not empty.
[[nodiscard]] inline Failure failure_of(const Error& error, std::string_view subject) {
  return {exit_code_of(error.code),
          fmt::format("{}{}{}", subject, subject.empty() ? "" : ": ", error.message)};
}

template <class T>
[[nodiscard]] T value_or_fail(Result<T> result, std::string_view subject = {}) {
  if (!result) throw failure_of(result.error(), subject);
  return *std::move(result);
}

inline void ok_or_fail(const Status& status, std::string_view subject = {}) {
  if (!status) throw failure_of(status.error(), subject);
}

}  // namespace rotary::cli
