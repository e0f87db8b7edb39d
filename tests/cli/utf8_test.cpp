// SPDX-License-Identifier: Apache-2.0
// Tests sequences just inside and just outside each row of Unicode 15's table 3-7.
#include "apps/utf8.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace rotary::cli {
namespace {

TEST(Utf8, AcceptsTheEdgesOfEachLength) {
  EXPECT_EQ(utf8_sequence_length(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(utf8_sequence_length("\x7F"), 1u);
  EXPECT_EQ(utf8_sequence_length("\xC2\x80"), 2u);
  EXPECT_EQ(utf8_sequence_length("\xDF\xBF"), 2u);
  EXPECT_EQ(utf8_sequence_length("\xE0\xA0\x80"), 3u);
  EXPECT_EQ(utf8_sequence_length("\xED\x9F\xBF"), 3u);
  EXPECT_EQ(utf8_sequence_length("\xEF\xBF\xBF"), 3u);
  EXPECT_EQ(utf8_sequence_length("\xF0\x90\x80\x80"), 4u);
  EXPECT_EQ(utf8_sequence_length("\xF4\x8F\xBF\xBF"), 4u);
}

TEST(Utf8, RefusesMalformedSequences) {
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
    EXPECT_EQ(utf8_sequence_length(text), 0u) << text;
  }
}

TEST(Utf8, CutsBetweenCharacters) {
  const std::string_view text = "a\xC3\xA9\xF0\x9F\x98\x80z";
  for (const auto& [most, length] :
       {std::pair{0u, 0u}, {1u, 1u}, {2u, 1u}, {3u, 3u}, {6u, 3u}, {7u, 7u}, {8u, 8u}, {9u, 8u}}) {
    EXPECT_EQ(utf8_prefix(text, most), text.substr(0, length)) << most;
  }
}

TEST(Utf8, ReadsCodePoints) {
  EXPECT_EQ(code_point_of("z"), U'z');
  EXPECT_EQ(code_point_of("\xC2\x80"), U'\x80');
  EXPECT_EQ(code_point_of("\xEF\xBF\xBF"), U'\xFFFF');
  EXPECT_EQ(code_point_of("\xF4\x8F\xBF\xBF"), U'\x10FFFF');
}

}  // namespace
}  // namespace rotary::cli
