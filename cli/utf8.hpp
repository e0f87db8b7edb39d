// SPDX-License-Identifier: Apache-2.0
// UTF-8 as in Unicode 15, table 3-7: no overlong form, no surrogate, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rotary::cli {

// Bytes of the well-formed sequence that text, not empty, begins with; 0 when there is none.
[[nodiscard]] std::size_t utf8_sequence_length(std::string_view text) noexcept;

// Text from outside for a terminal: control characters, which it would obey, become '?'.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace rotary::cli
