// SPDX-License-Identifier: Apache-2.0
#include "apps/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "apps/utf8.hpp"

namespace rotary::cli {
namespace {

struct CodePoints {
  char32_t first, last;
};

// Cc, Cf, Zl and Zp of Unicode 15.0 (DerivedGeneralCategory.txt), and U+FDD0 to U+FDEF. The two
// noncharacters at the end of each plane are not in this table.
constexpr std::array<CodePoints, 24> obeyed = {{
    {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x0600, 0x0605},
    {0x061C, 0x061C},   {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},
    {0x08E2, 0x08E2},   {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},
    {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0001, 0xE0001}, {0xE0020, 0xE007F},
}};

std::string text_escape(char32_t code_point) {
  const auto number = static_cast<std::uint32_t>(code_point);
  return number <= 0xFFFF ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

}  // namespace

bool is_obeyed(char32_t code_point) noexcept {
  if ((code_point & 0xFFFE) == 0xFFFE) return true;
  const auto* const range = std::ranges::lower_bound(obeyed, code_point, {}, &CodePoints::last);
  return range != obeyed.end() && range->first <= code_point;
}

std::string escaped(std::string_view text, std::string_view kept, std::string (*escape)(char32_t)) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = plain_ascii_length(text);
    result += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(sequence[0]));
    else if (kept.find(sequence) == std::string_view::npos && is_obeyed(code_point_of(sequence)))
      result += escape(code_point_of(sequence));
    else
      result += sequence;
    text.remove_prefix(sequence.size());
  }
  return result;
}

std::string printable(std::string_view text) { return escaped(text, {}, text_escape); }

std::string shown_name(std::string_view name) {
  constexpr std::size_t longest = 80;
  const std::string_view beginning = utf8_prefix(name, longest);
  return fmt::format("{}{}", beginning, beginning.size() < name.size() ? "..." : "");
}

std::string shown_message(std::string_view message) {
  constexpr std::size_t half = 4096;  // the longest path
  if (message.size() <= 2 * half) return std::string(message);
  const std::string_view beginning = utf8_prefix(message, half);
  const std::size_t end = utf8_prefix(message, message.size() - half).size();
  return fmt::format("{}...({} bytes)...{}", beginning, end - beginning.size(),
                     message.substr(end));
}

std::string printable_lines(std::string_view text) { return escaped(text, "\n", text_escape); }

}  // namespace rotary::cli
