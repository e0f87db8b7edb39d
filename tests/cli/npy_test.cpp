// SPDX-License-Identifier: Apache-2.0
// Headers that NumPy does not write. Python's tests read and write each type, from files and pipes.
// `./dev record` compares the refusal of each file in fuzz/corpus/npy.
#include "apps/npy/npy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/error_matchers.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary::cli {
namespace {

using rotary::test::fails;
using rotary::test::refused;
using rotary::test::value_of;
using Shape = std::vector<std::int64_t>;

constexpr auto malformed = ErrorCode::malformed_input;
constexpr auto unsupported = ErrorCode::unsupported;

// Writes header.size() into the length field, whose width depends on the version.
std::string npy_file(std::string_view header, std::string_view data, int major_version = 1) {
  std::string file = std::string("\x93NUMPY") + static_cast<char>(major_version) + '\0';
  for (int i = 0; i < (major_version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i));
  return file + std::string(header) + std::string(data);
}

std::string npy_header(std::string_view descr, std::string_view shape) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }\n";
}

Result<NpyArray> read_text(std::string_view file,
                           const NpyLimit& limit = {.elements = UINT64_MAX}) {
  MemoryStream stream(std::as_bytes(std::span(file)));
  return read_npy(stream, limit);
}

// Reads a file with the dtype '<f4', this shape and no data.
Result<NpyArray> read_shape(std::string_view shape, const NpyLimit& limit = {UINT64_MAX}) {
  return read_text(npy_file(npy_header("<f4", shape), ""), limit);
}

TEST(ReadNpy, AcceptsHeadersWithOtherOrderQuotesAndSpacing) {
  for (const char* header : {
           "{'shape':(2,),'descr':'<f4','fortran_order':False}",
           "  { \"fortran_order\" : False , \"shape\" : ( 2 , ) , \"descr\" : \"<f4\" }  \n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }              \n",
       }) {
    EXPECT_EQ(value_of(read_text(npy_file(header, std::string(8, '\0')))).shape, Shape{2})
        << header;
  }
}

TEST(ReadNpy, RefusesArraysBeyondTheLimit) {
  EXPECT_TRUE(read_shape("(1000, 0)", {.elements = 1000, .of_one_axis = 9}));
  refused(read_shape("(1000, 0)", {.elements = 999}),
          {"at most 999 elements here, got the shape [1000, 0]"}, unsupported);
  const std::string row = npy_file(npy_header("<f4", "(10,)"), std::string(40, 'x'));
  EXPECT_TRUE(read_text(row, {.elements = 10}));
  EXPECT_FALSE(read_text(row, {.elements = 10, .of_one_axis = 9}));
}

TEST(WriteNpy, AlignsTheData) {
  constexpr std::array<std::byte, 48> data{};
  EXPECT_EQ(write_npy(NpyType::i64, Shape{2, 3}, data).size() % 64, data.size());
}

TEST(HostileNpy, OtherVersionsAreRefused) {
  std::string file = npy_file(npy_header("<f4", "()"), "abcd");
  for (const auto& [major, minor, got] : {std::tuple{4, 0, "4.0"}, {1, 1, "1.1"}}) {
    file[6] = static_cast<char>(major);
    file[7] = static_cast<char>(minor);
    refused(read_text(file), {"1.0, 2.0 or 3.0", "got", got}, unsupported);
  }
}

TEST(HostileNpy, EveryTruncationIsRefused) {
  for (const int version : {1, 2, 3}) {
    const std::string file = npy_file(npy_header("<f4", "(2, 3)"), std::string(24, 'x'), version);
    ASSERT_TRUE(read_text(file));
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_TRUE(fails(read_text(std::string_view(file).substr(0, size)), malformed, {})) << size;
    }
    refused(read_text(file + "x"), {"must have 24 bytes, got 25"}, malformed);
  }
}

TEST(HostileNpy, AChangedHeaderByteGivesAnErrorOrAValidArray) {
  const std::string file = npy_file(npy_header("<f4", "(2, 3)"), std::string(24, 'x'));
  const std::size_t header_end = file.size() - 24;
  for (std::size_t place = 0; place < header_end; ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = file;
      changed[place] = static_cast<char>(byte);
      const auto array = read_text(changed);
      EXPECT_TRUE(!array || array->data.size() == 24u) << place << ' ' << byte;
    }
  }
}

TEST(HostileNpy, OverflowingShapesAreRefused) {
  constexpr auto exactly_2_63_bytes = "(2305843009213693952,)";
  for (const char* shape :
       {exactly_2_63_bytes, "(9223372036854775807,)", "(9223372036854775807, 4, 0)",
        "(0, 9223372036854775807, 4)", "(4294967296, 4294967296)", "(4611686018427387904, 4)",
        "(4611686018427387905, 4)"}) {
    refused(read_shape(shape), {"fewer than 2^63 bytes, got ["}, malformed);
  }
  refused(read_shape("(2305843009213693951,)"), {"must have 9223372036854775804 bytes, got 0"},
          malformed);
}

TEST(HostileNpy, WrongDimensionsAreRefused) {
  for (const char* shape : {"(-1,)", "(9223372036854775808,)", "(99999999999999999999,)"}) {
    refused(read_shape(shape), {"integers in [0, 2^63)", "at byte"}, malformed);
  }
  for (const char* shape :
       {"(1.0,)", "(1e3,)", "(0x10,)", "(03,)", "(3L,)", "('3',)", "(None,)", "(3", "(,)", "(3,,)",
        "(3 4)", "((3,),)", "3", "[3]", "(3)", "", "(3,4"}) {
    SCOPED_TRACE(shape);
    refused(read_shape(shape), {"the NPY header must have", "at byte"}, malformed);
  }
}

TEST(HostileNpy, UnsupportedAndMalformedTypesAreRefused) {
  const auto read_type = [](std::string_view descr) {
    return read_text(npy_file(npy_header(descr, "(1,)"), "abcdefgh"));
  };
  for (const char* descr :
       {"<f16", "<f1", "<u4", "|b1", "|u1", "|S8", "<U2", "|V8", "<c16", "=f4"}) {
    EXPECT_TRUE(fails(read_type(descr), unsupported, {"'<f8', '<u2'", descr})) << descr;
  }
  for (const char* descr : {"", "<", "<ixy", "f4", "float32", "<f4junk", "<f-4", " <f4"}) {
    EXPECT_TRUE(fails(read_type(descr), malformed, {"descr such as '<f4', got '"})) << descr;
  }
  for (const char* descr : {"|O", "<O8"}) refused(read_type(descr), {"pickles"}, unsupported);
  refused(read_text(npy_file("{'descr': ('<f4', (2,))}", "")), {"structured"}, unsupported);
}

TEST(HostileNpy, MalformedHeaderDictsAreRefused) {
  for (const char* header : {
           "{}",
           "{,}",
           "[]",
           "{'descr': '<f4'}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (1,)}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
           "{'descr' '<f4', 'fortran_order': False, 'shape': (1,)}",
           "{descr: '<f4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': None, 'fortran_order': False, 'shape': (1,)}",
       }) {
    EXPECT_TRUE(fails(read_text(npy_file(header, "abcd")), malformed, {})) << header;
  }
}

TEST(HostileNpy, DeepNestingIsRefused) {
  for (const char bracket : {'(', '[', '{'}) {
    const std::string deep(60000, bracket);
    EXPECT_FALSE(read_text(npy_file(deep, "")));
    EXPECT_FALSE(read_text(npy_file("{'shape': " + deep, "")));
    EXPECT_FALSE(read_text(npy_file("{'descr': " + deep, "")));
  }
}

}  // namespace
}  // namespace rotary::cli
