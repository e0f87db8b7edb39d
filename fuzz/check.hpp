// SPDX-License-Identifier: Apache-2.0
// Reports a violated requirement, and checks the requirements on every error.
#pragma once

#include <cstdint>
#include <string_view>

#include "rotary/result.hpp"
#include "tests/support/executors.hpp"

namespace rotary::fuzz {

// Reports the fault and ends the process, so that libFuzzer keeps the input.
[[noreturn]] void fail(std::string_view what, std::string_view got = {});

// Checks text for people: UTF-8, not empty, at most 1000 bytes for any input.
void check_text(std::string_view text);

// Checks for an existing code and a valid message.
void check_error(const Error& error);

// Checks how often an executor was called, and into how many tasks the last call was split.
void check_executor(test::CountingExecutor& used, std::int64_t most_calls);

}  // namespace rotary::fuzz
