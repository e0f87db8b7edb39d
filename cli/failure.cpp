// SPDX-License-Identifier: Apache-2.0
#include "cli/failure.hpp"

#include <fmt/format.h>

namespace rotary::cli {
namespace {

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return ExitCode::usage;
    case ErrorCode::malformed_input:
      return ExitCode::malformed_input;
    case ErrorCode::unsupported:
      return ExitCode::unsupported;
    case ErrorCode::out_of_memory:
      return ExitCode::internal;
  }
  return ExitCode::internal;
}

}  // namespace

Failure failure_of(const Error& error, std::string_view subject) {
  const ExitCode exit_code = exit_code_of(error.code);
  if (subject.empty()) return {exit_code, error.message};
  return {exit_code, fmt::format("{}: {}", subject, error.message)};
}

}  // namespace rotary::cli
