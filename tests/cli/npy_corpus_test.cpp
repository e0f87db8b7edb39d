// SPDX-License-Identifier: Apache-2.0
// The files of fuzz/corpus/npy: false NPY files, and valid ones that look false.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "npy_bytes.hpp"
#include "support/corpus.hpp"

namespace rotary::cli {
namespace {

constexpr auto malformed = ErrorCode::malformed_input;
constexpr auto unsupported = ErrorCode::unsupported;

TEST(NpyCorpus, ValidFilesStayTheSameWhenWrittenAgain) {
  for (const auto& file : rotary::test::corpus_files("npy", "y_")) {
    const auto array = test::read_text(file.bytes);
    ASSERT_TRUE(array) << file.name << ": " << array.error().message;
    const auto again = test::read_text(write_npy(array->type, array->shape, array->data));
    ASSERT_TRUE(again) << file.name;
    EXPECT_EQ(again->type, array->type) << file.name;
    EXPECT_EQ(again->shape, array->shape) << file.name;
    EXPECT_EQ(again->data, array->data) << file.name;
  }
}

TEST(NpyCorpus, InvalidFilesAreRefused) {
  for (const auto& file : rotary::test::corpus_files("npy", "n_")) {
    const auto array = test::read_text(file.bytes);
    ASSERT_FALSE(array) << file.name;
    EXPECT_FALSE(array.error().message.empty()) << file.name;
  }
}

void expect_refusals(const std::vector<rotary::test::CorpusRefusal>& refusals) {
  rotary::test::expect_refusals(
      "npy", ".npy", [](const std::string& bytes) { return test::read_text(bytes); }, refusals);
}

TEST(NpyCorpus, WrongMagicVersionsAndLengthsAreRefused) {
  expect_refusals({
      {"empty", malformed, {"must begin with"}},
      {"zip", malformed, {"must begin with"}},
      {"magic_only", malformed, {"ends before its version"}},
      {"version_0", unsupported, {"1.0, 2.0 or 3.0", "got 0.0"}},
      {"version_4", unsupported, {"1.0, 2.0 or 3.0", "got 4.0"}},
      {"version_minor", unsupported, {"1.0, 2.0 or 3.0", "got 1.1"}},
      {"length_cut", malformed, {"ends before the length of its header"}},
      {"header_length_beyond_file", malformed, {"65535 bytes it announces, got 2"}},
      {"header_length_beyond_file_v2", malformed, {"60000 bytes it announces, got 2"}},
      {"header_length_fffffff0", malformed, {"at most 65536 bytes, got 4294967280"}},
      {"header_length_0", malformed, {"must be a Python dict"}},
      {"data_short", malformed, {"must have 24 bytes, got 23"}},
      {"data_long", malformed, {"must have 24 bytes, got 25"}},
      {"data_missing_8_exbibytes", malformed, {"must have 9223372036854775804 bytes, got 4"}},
  });
}

TEST(NpyCorpus, WrongShapesAreRefused) {
  for (const std::string_view overflow : {"product_overflows_to_0", "product_overflows_to_4",
                                          "product_2_64", "bytes_overflow", "overflow_behind_0"}) {
    expect_refusals({{overflow, malformed, {"fewer than 2^63 bytes, got ["}}});
  }
  for (const std::string_view dimension : {"dimension_2_63", "dimension_negative"}) {
    expect_refusals({{dimension, malformed, {"integers in [0, 2^63)", "at byte"}}});
  }
  for (const std::string_view shape : {"dimension_fraction", "dimension_leading_zero",
                                       "dimension_long", "shape_no_tuple", "shape_list", "deep"}) {
    expect_refusals({{shape, malformed, {"the NPY header must have", "at byte"}}});
  }
  expect_refusals({{"33_dimensions", malformed, {"at most 32 dimensions"}}});
}

TEST(NpyCorpus, WrongTypesAreRefused) {
  for (const std::string_view descr : {"descr_ixy", "descr_empty", "descr_one_letter"}) {
    expect_refusals({{descr, malformed, {"must have a descr such as '<f4', got '"}}});
  }
  expect_refusals({
      // Messages do not repeat bytes that are not text or that control a terminal.
      {"descr_no_utf8", malformed, {"got '<?", "?'"}},
      {"descr_control_characters", malformed, {"got '<?[31m'"}},
      {"key_no_utf8", malformed, {"once each, got '?'"}},
      {"object", unsupported, {"pickles"}},
      {"object_of_8_bytes", unsupported, {"pickles"}},
      {"big_endian", unsupported, {"little-endian, got '>f4'", "newbyteorder"}},
      {"native_endian", unsupported, {"the type must be one of", "got '=f4'"}},
      {"boolean", unsupported, {"the type must be one of", "got '|b1'"}},
      {"text", unsupported, {"the type must be one of", "got '<U1'"}},
      {"structured", unsupported, {"structured types are refused"}},
      {"fortran_order", unsupported, {"C order", "np.ascontiguousarray"}},
      {"order_number", malformed, {"True or False as fortran_order"}},
  });
}

TEST(NpyCorpus, MessagesStayShort) {
  const auto array = test::read_text(rotary::test::corpus_file("npy", "n_descr_long.npy"));
  ASSERT_FALSE(array);
  EXPECT_LE(array.error().message.size(), 200U);
}

TEST(NpyCorpus, WrongDictsAreRefused) {
  expect_refusals({
      {"duplicate_key", malformed, {"once each, got 'descr'"}},
      {"more_keys", malformed, {"once each, got 'more'"}},
      {"shape_missing", malformed, {"must have the keys descr, fortran_order and shape"}},
      {"text_after_dict", malformed, {"must end after the dict, at byte"}},
  });
}

}  // namespace
}  // namespace rotary::cli
