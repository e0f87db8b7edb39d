// SPDX-License-Identifier: Apache-2.0
// Colours, by default only on a terminal (--color). Headings are bold, failures red, and warnings
// yellow. Marks such as [class default] are faint.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli {

enum class ColourChoice { automatic, always, never };

// Sets the choice for the process. Called before anything is written.
void choose_colour(ColourChoice choice) noexcept;

// True for --color always, or on a terminal unless TERM is dumb or NO_COLOR is set (no-color.org).
[[nodiscard]] bool has_colour(int descriptor) noexcept;

// The text with ECMA-48 escape sequences.
[[nodiscard]] std::string coloured(std::string_view text);

}  // namespace rotary::cli
