// SPDX-License-Identifier: Apache-2.0
// printable() escapes characters that a terminal obeys, and keeps others.
#include "apps/printable.hpp"

#include <gtest/gtest.h>

#include <cstdint>
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

TEST(Printable, EscapesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("a\x80\xC0\xAF\xED\xA0\x80z"), "a\\x80\\xc0\\xaf\\xed\\xa0\\x80z");
  EXPECT_EQ(printable("\xE2\x82"), "\\xe2\\x82");
}

TEST(Printable, LinesKeepTheirEnds) {
  EXPECT_EQ(printable_lines("one\ntwo\r\n\x1b\n"), "one\ntwo\\u000d\n\\u001b\n");
}

// The first and last characters of each range of the table, and their neighbours outside.
TEST(Printable, TheEdgesOfCategoriesAreExact) {
  for (const char32_t code_point : std::initializer_list<char32_t>{
           0x00, 0x1F, 0x7F, 0x9F, 0xAD, 0x200B, 0x200F, 0x2028, 0x202E, 0x2066, 0xFDD0, 0xFDEF,
           0xFFFF, 0x1FFFE, 0x10FFFF, 0xE007F}) {
    EXPECT_TRUE(is_obeyed(code_point)) << std::uint32_t{code_point};
  }
  for (const char32_t code_point : std::initializer_list<char32_t>{
           0x20, 0x7E, 0xA0, 0xAC, 0xAE, 0x200A, 0x2010, 0x2027, 0x202F, 0x2065, 0xFDCF, 0xFDF0,
           0xFFFD, 0x1FFFD, 0x10FFFD, 0xE0080}) {
    EXPECT_FALSE(is_obeyed(code_point)) << std::uint32_t{code_point};
  }
}

}  // namespace
}  // namespace rotary::cli
