// SPDX-License-Identifier: Apache-2.0
// The tool as a function: reads the command line, runs one command, and turns every failure into a
// message on standard error, an exit code and, with --json, an error object on standard output.
#pragma once

namespace rotary::cli {

// The exit code. Never throws.
[[nodiscard]] int run(int argument_count, const char* const* arguments) noexcept;

}  // namespace rotary::cli
