// SPDX-License-Identifier: Apache-2.0
#include "apps/utf8.hpp"

#include <algorithm>
#include <array>

namespace rotary::cli {
namespace {

// A row of Unicode's table 3-7: lead bytes, length, and the allowed second bytes.
struct Sequences {
  unsigned char lead_first, lead_last;
  std::size_t length;
  unsigned char second_first, second_last;
};

constexpr std::array<Sequences, 9> well_formed = {{
    {0x00, 0x7F, 1, 0x00, 0x00},
    {0xC2, 0xDF, 2, 0x80, 0xBF},
    {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F},
    {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF},
    {0xF4, 0xF4, 4, 0x80, 0x8F},
}};

bool between(char byte, unsigned char first, unsigned char last) noexcept {
  const auto unsigned_byte = static_cast<unsigned char>(byte);
  return first <= unsigned_byte && unsigned_byte <= last;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) noexcept {
  for (const Sequences& row : well_formed) {
    if (!between(text[0], row.lead_first, row.lead_last)) continue;
    if (text.size() < row.length) return 0;
    if (row.length >= 2 && !between(text[1], row.second_first, row.second_last)) return 0;
    for (std::size_t i = 2; i < row.length; ++i)
      if (!between(text[i], 0x80, 0xBF)) return 0;
    return row.length;
  }
  return 0;
}

std::size_t plain_ascii_length(std::string_view text) noexcept {
  const auto* const end =
      std::ranges::find_if_not(text, [](char byte) { return byte >= ' ' && byte <= '~'; });
  return static_cast<std::size_t>(end - text.begin());
}

std::string_view utf8_prefix(std::string_view text, std::size_t most_bytes) noexcept {
  if (text.size() <= most_bytes) return text;
  const auto continues = [](char byte) { return between(byte, 0x80, 0xBF); };
  while (most_bytes > 0 && continues(text[most_bytes])) --most_bytes;
  return text.substr(0, most_bytes);
}

char32_t code_point_of(std::string_view sequence) noexcept {
  constexpr std::array<unsigned char, 5> lead_bits = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code_point = static_cast<unsigned char>(sequence[0]) & lead_bits[sequence.size()];
  for (const char byte : sequence.substr(1))
    code_point = (code_point << 6) | (static_cast<unsigned char>(byte) & 0x3F);
  return code_point;
}

}  // namespace rotary::cli
