// SPDX-License-Identifier: Apache-2.0
// printable() escapes characters that a terminal obeys and bytes that are not UTF-8. test_text.py
// tests every character.
#include "apps/printable.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rotary::cli {
namespace {

TEST(Printable, KeepsVisibleText) {
  for (const std::string_view text : {"", "plain text ~", "\\x1b \\u202e", "\xC3\xA9\xE2\x82\xAC",
                                      "\xF0\x9F\x98\x80", "\xC2\xA0\xE3\x80\x80"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, EscapesControlAndFormatCharacters) {
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(printable("a\tb\r\nc\x1b[31m\x7F"), "a\\u0009b\\u000d\\u000ac\\u001b[31m\\u007f");
  EXPECT_EQ(printable("\xC2\x85\xC2\x9B\xC2\xAD"), "\\u0085\\u009b\\u00ad");
  EXPECT_EQ(printable("\xD8\x9C\xE2\x80\x8F\xE2\x80\xAE\xE2\x81\xA9"),
            "\\u061c\\u200f\\u202e\\u2069");
  EXPECT_EQ(printable("\xE2\x80\xA8\xE2\x80\xA9"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\xEF\xBB\xBF\xEF\xBF\xBE\xF3\xA0\x81\x81"), "\\ufeff\\ufffe\\U000e0041");
}

// Just outside the rows of Unicode 15's table 3-7.
TEST(Printable, EscapesEachByteThatIsNotUtf8) {
  for (const std::string_view text : {
           "\x80",              // a continuation alone
           "\xC0\x80",          // overlong
           "\xC1\xBF",          // overlong
           "\xE0\x9F\xBF",      // overlong
           "\xF0\x8F\xBF\xBF",  // overlong
           "\xED\xA0\x80",      // a surrogate
           "\xF4\x90\x80\x80",  // above U+10FFFF
           "\xF5\x80\x80\x80",  // above U+10FFFF
           "\xFF",              // in no character
           "\xC3",              // cut short
           "\xE2\x82",          // cut short
           "\xF0\x9F\x98",      // cut short
           "\xE2\x82x",         // a letter for a continuation
       }) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string expected;
    for (const char byte : text) {
      const auto number = static_cast<unsigned char>(byte);
      expected +=
          byte == 'x' ? "x" : std::string("\\x") + digits[number >> 4] + digits[number & 15];
    }
    EXPECT_EQ(printable(text), expected);
  }
}

TEST(Printable, KeepsTheNewlinesBetweenLines) {
  EXPECT_EQ(printable_lines("one\ntwo\r\n\x1b\n"), "one\ntwo\\u000d\n\\u001b\n");
}

}  // namespace
}  // namespace rotary::cli
