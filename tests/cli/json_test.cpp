// SPDX-License-Identifier: Apache-2.0
#include "apps/json.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace rotary::cli {
namespace {

TEST(Json, KeepsTheOrderOfMembers) {
  const Json json = {{"b", 1},
                     {"a", std::vector<double>{0.5, -2}},
                     {"c", std::optional<double>()},
                     {"d", std::optional(true)},
                     {"e", text_or_null("")},
                     {"f", json_array(std::vector{1, 2}, [](int i) {
                        return Json{{"i", i}};
                      })}};
  EXPECT_EQ(printed(json),
            "{\"b\":1,\"a\":[0.5,-2.0],\"c\":null,\"d\":true,\"e\":null,"
            "\"f\":[{\"i\":1},{\"i\":2}]}\n");
}

TEST(Json, PrintsDoublesThatReadBackEqual) {
  for (const double number : {0.1, 1.0 / 3, -5e-324, 1e23, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(std::strtod(printed(Json(number)).c_str(), nullptr), number);
  }
  EXPECT_EQ(printed(Json(0.1)), "0.1\n");
  EXPECT_EQ(printed(Json(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808\n");
}

TEST(Json, RoundsToAGivenNumberOfDigits) {
  EXPECT_EQ(printed(Json(rounded_to_digits(1.0 / 3, 7))), "0.3333333\n");
  EXPECT_EQ(rounded_to_digits(-123456, 2), -120000);
  EXPECT_EQ(rounded_to_digits(0, 7), 0);
}

TEST(Json, PrintsNullForNanAndInfinity) {
  EXPECT_EQ(printed(Json(std::numeric_limits<double>::infinity())), "null\n");
  EXPECT_EQ(printed(Json(-std::numeric_limits<double>::infinity())), "null\n");
  EXPECT_EQ(printed(Json(std::numeric_limits<double>::quiet_NaN())), "null\n");
}

TEST(Json, EscapesQuotesAndControlCharacters) {
  EXPECT_EQ(printed(Json("a\"b\\c\x01\x7F/")), "\"a\\\"b\\\\c\\u0001\\u007f/\"\n");
  EXPECT_EQ(printed(Json(std::string_view("\0x", 2))), "\"\\u0000x\"\n");
  EXPECT_EQ(printed(Json("é√😀")), "\"é√😀\"\n");
  EXPECT_EQ(printed(Json("\xC2\x9B\u202E\u2028\U000E0041")),
            "\"\\u009b\\u202e\\u2028\\udb40\\udc41\"\n");
  EXPECT_EQ(printed({{"\u202E", 1}}), "{\"\\u202e\":1}\n");
}

TEST(Json, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(printed(Json("a\xFF"
                         "b\xC3")),
            "\"a\uFFFDb\uFFFD\"\n");
}

}  // namespace
}  // namespace rotary::cli
