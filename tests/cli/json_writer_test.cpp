// SPDX-License-Identifier: Apache-2.0
// The tool's output is JSON for any values.
#include "cli/json_writer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::cli {
namespace {

template <class T>
std::string written(const T& value) {
  JsonWriter json;
  json.value(value);
  return std::move(json).finish();
}

TEST(JsonWriter, NestsObjectsAndArrays) {
  JsonWriter json;
  json.begin_object();
  json.member("a", 1);
  json.key("b");
  json.begin_array();
  json.begin_object();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.null();
  json.value(true);
  json.value(false);
  json.value(std::string_view("x"));
  json.end_array();
  json.array("c", std::vector<double>{0.5, -2});
  json.end_object();
  EXPECT_EQ(std::move(json).finish(),
            "{\"a\":1,\"b\":[{},[],null,true,false,\"x\"],\"c\":[0.5,-2]}\n");
}

// Brackets and colons at the end of text are not structure.
TEST(JsonWriter, WritesFewerDigitsWhereAsked) {
  JsonWriter json(7);
  json.value(1.0 / 3);
  EXPECT_EQ(std::move(json).finish(), "0.3333333\n");
}

TEST(JsonWriter, PutsCommasAfterTextThatLooksLikeStructure) {
  JsonWriter json;
  json.array("k", std::vector<std::string_view>{"{", "[", ":", ","});
  EXPECT_EQ(std::move(json).finish(), "\"k\":[\"{\",\"[\",\":\",\",\"]\n");
}

TEST(JsonWriter, WritesSeventeenDigits) {
  EXPECT_EQ(written(0.1), "0.10000000000000001\n");
  EXPECT_EQ(written(1.0), "1\n");
  EXPECT_EQ(written(-5e-324), "-4.9406564584124654e-324\n");
  EXPECT_EQ(written(std::numeric_limits<double>::max()), "1.7976931348623157e+308\n");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808\n");
}

TEST(JsonWriter, WritesNullForWhatJsonCannotHold) {
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null\n");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null\n");
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null\n");
  EXPECT_EQ(written(std::numeric_limits<float>::infinity()), "null\n");
  EXPECT_EQ(written(std::optional<double>()), "null\n");
}

TEST(JsonWriter, EscapesText) {
  EXPECT_EQ(written(std::string_view("a\"b\\c\n\x01\x7F/")),
            "\"a\\\"b\\\\c\\u000a\\u0001\\u007f/\"\n");
  EXPECT_EQ(written(std::string_view("\0x", 2)), "\"\\u0000x\"\n");
  EXPECT_EQ(written(std::string_view("é√😀")), "\"é√😀\"\n");
  EXPECT_EQ(written(std::string_view("\xC2\x9B\u202E\u2028\U000E0041")),
            "\"\\u009b\\u202e\\u2028\\udb40\\udc41\"\n");
}

// Characters can occur in its strings only, where escapes have the same meaning.
TEST(JsonWriter, EscapesTextOfADocument) {
  JsonWriter json;
  json.document("{\"a\": \"\u202E\\u202e\U000E0041é\"}");
  EXPECT_EQ(std::move(json).finish(), "{\"a\": \"\\u202e\\u202e\\udb40\\udc41é\"}\n");
}

TEST(JsonWriter, TakesAWholeDocumentOntoItsLine) {
  JsonWriter json;
  json.begin_array();
  json.document("{\n  \"a  b\": [\n    1, 2\n  ]\n}\n");
  json.document("3");
  json.end_array();
  EXPECT_EQ(std::move(json).finish(), "[{\"a  b\": [1, 2]},3]\n");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(written(std::string_view("a\xFF"
                                     "b\xC3")),
            "\"a\uFFFDb\uFFFD\"\n");
}

}  // namespace
}  // namespace rotary::cli
