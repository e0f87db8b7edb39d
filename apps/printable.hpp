// SPDX-License-Identifier: Apache-2.0
// Shows text from outside (file names, keys and values of configs, arguments). Characters that a
// terminal obeys, that end a line or that XML forbids become escapes, here and nowhere else:
//   general category                     escape
//   Cc  control: C0, DEL, C1             \u001b
//   Cf  format: bidirectional controls,  \u202e, \U000e0041
//       zero width, soft hyphen, tags
//   Zl, Zp  line, paragraph separator    \u2028
//   noncharacters                        \ufffe
//   bytes that are not UTF-8             \xff
// The categories are those of Unicode 15.0. Escapes are ASCII, so shown text can be shown again.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli {

// True if the character is escaped.
[[nodiscard]] bool is_obeyed(char32_t code_point) noexcept;

// Replaces each obeyed character c by escape(c), unless `kept` has it. Bytes that are not UTF-8
// become \xff.
[[nodiscard]] std::string escaped(std::string_view text, std::string_view kept,
                                  std::string (*escape)(char32_t));

// Escapes line ends, too.
[[nodiscard]] std::string printable(std::string_view text);

// The beginning of a name, for messages.
[[nodiscard]] std::string shown_name(std::string_view name);

// Removes the middle of a long message, which may quote text of any length.
[[nodiscard]] std::string shown_message(std::string_view message);

// Keeps line ends.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace rotary::cli
