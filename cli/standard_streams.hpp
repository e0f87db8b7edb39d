// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error. All text leaves the tool here, with escapes for what a
// terminal would obey (cli/printable.hpp), line ends stay, and with colours where colour.hpp says
// so.
#pragma once

#include <string_view>

namespace rotary::cli {

// Descriptors 0 to 2 that are closed: the next file that is opened would get such a number, and
// messages would land in it. They become /dev/null, opened so that reading the first and writing
// the others still fails. False where there is no /dev/null. Called before anything is opened.
[[nodiscard]] bool reserve_standard_descriptors() noexcept;

// Failure: I/O.
void write_standard_output(std::string_view text);

// Where nobody listens nothing changes.
void write_standard_error(std::string_view text) noexcept;

}  // namespace rotary::cli
