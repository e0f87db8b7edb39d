// SPDX-License-Identifier: Apache-2.0
// Text for the lab's user: answers on standard output, notes on standard error, both written as by
// cli/standard_streams.hpp.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "cli/standard_streams.hpp"

namespace rotary::lab {

// Failure: I/O.
template <class... Arguments>
void print_answer(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  cli::write_standard_output(fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void print_note(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  cli::write_standard_error(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace rotary::lab
