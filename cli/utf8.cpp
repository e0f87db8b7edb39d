// SPDX-License-Identifier: Apache-2.0
#include "cli/utf8.hpp"

#include <array>

namespace rotary::cli {
namespace {

// A row of the table: which lead bytes, how long, and what the second byte may be.
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
    for (std::size_t i = 2; i < row.length; ++i) {
      if (!between(text[i], 0x80, 0xBF)) return 0;
    }
    return row.length;
  }
  return 0;
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return shown;
}

}  // namespace rotary::cli
