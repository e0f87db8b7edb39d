// SPDX-License-Identifier: Apache-2.0
// UTF-8 as in Unicode 15, table 3-7: no overlong form, no surrogate, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace rotary::cli {

// The bytes of the well-formed sequence at the start of `text`, which must not be empty; 0 if there
// is none.
[[nodiscard]] std::size_t utf8_sequence_length(std::string_view text) noexcept;

// How many bytes at the start of `text` are visible ASCII or blanks.
[[nodiscard]] std::size_t plain_ascii_length(std::string_view text) noexcept;

// The code point of `sequence`, which must be exactly one well-formed UTF-8 sequence.
[[nodiscard]] char32_t code_point_of(std::string_view sequence) noexcept;

// The longest prefix of at most `most_bytes` bytes that does not end inside a character.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t most_bytes) noexcept;

// 'A' to 'Z' become lower case; other bytes stay.
[[nodiscard]] constexpr char ascii_lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace rotary::cli
