// SPDX-License-Identifier: Apache-2.0
// Colours text for terminals: headings bold, MISSED red, warnings yellow, and marks such as
// [class default] faint.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli {

enum class ColourChoice { automatic, always, never };

// Sets the choice for the process. Must be called before anything is written.
void choose_colour(ColourChoice choice) noexcept;

// By default, colours a terminal unless TERM is dumb or NO_COLOR has a value (no-color.org).
[[nodiscard]] bool has_colour(int descriptor) noexcept;

// The text with ECMA-48 escape sequences.
[[nodiscard]] std::string coloured(std::string_view text);

}  // namespace rotary::cli
