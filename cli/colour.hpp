// SPDX-License-Identifier: Apache-2.0
// Colours of what people read: on a terminal only, unless --color says otherwise. Headings are
// bold, failures red, warnings yellow, marks of values that a file does not state faint.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli {

enum class ColourChoice { automatic, always, never };

// Decides for the whole process, before anything is written.
void choose_colour(ColourChoice choice) noexcept;

// True for --color always, or on a terminal that is not dumb without NO_COLOR (no-color.org).
[[nodiscard]] bool has_colour(int descriptor) noexcept;

// Text with the escape sequences of ECMA-48.
[[nodiscard]] std::string coloured(std::string_view text);

}  // namespace rotary::cli
