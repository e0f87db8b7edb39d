// SPDX-License-Identifier: Apache-2.0
// Invalid NPY files are refused with a message that names the fault. These tests and npy_test.cpp
// cover the fault or form of each file in fuzz/corpus/npy.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "apps/npy/npy.hpp"
#include "npy_bytes.hpp"
#include "support/error_matchers.hpp"
#include "support/refusals.hpp"

namespace rotary::cli {
namespace {

using rotary::test::fails;
using rotary::test::refused;
using test::npy_file;
using test::npy_header;
using test::read_text;

constexpr auto malformed = ErrorCode::malformed_input;
constexpr auto unsupported = ErrorCode::unsupported;

// Reads a file with the dtype '<f4', this shape and no data.
Result<NpyArray> read_shape(std::string_view shape) {
  return read_text(npy_file(npy_header("<f4", shape), ""));
}

Result<NpyArray> read_header(std::string_view header) { return read_text(npy_file(header, "")); }

TEST(HostileNpy, WrongMagicAndVersionsAreRefused) {
  for (const char* file : {"", "PK\x03\x04\x14"}) {
    refused(read_text(file), {"must begin with"}, malformed);
  }
  refused(read_text("\x93NUMPY"), {"ends before its version"}, malformed);
  std::string file = npy_file(npy_header("<f4", "()"), "abcd");
  for (const auto& [major, minor, got] : {std::tuple{0, 0, "0.0"}, {4, 0, "4.0"}, {1, 1, "1.1"}}) {
    file[6] = static_cast<char>(major);
    file[7] = static_cast<char>(minor);
    refused(read_text(file), {"1.0, 2.0 or 3.0", "got", got}, unsupported);
  }
}

TEST(HostileNpy, WrongLengthsAreRefused) {
  const auto announcing = [](int version, std::uint64_t length) {
    std::string file = npy_file("{}", "", version);
    const std::size_t width = version == 1 ? 2 : 4;
    return read_text(file.replace(8, width, test::little_endian(length, width)));
  };
  refused(announcing(1, 65535), {"65535 bytes it announces, got 2"}, malformed);
  refused(announcing(2, 60000), {"60000 bytes it announces, got 2"}, malformed);
  refused(announcing(2, 0xFFFFFFF0), {"at most 65536 bytes, got 4294967280"}, malformed);
  refused(read_text(std::string_view("\x93NUMPY\x02\0\x10", 9)),
          {"ends before the length of its header"}, malformed);
  refused(read_header(""), {"must be a Python dict"}, malformed);
  refused(read_text(npy_file(npy_header("<f4", "(2, 3)"), std::string(23, 'x'))),
          {"must have 24 bytes, got 23"}, malformed);
  refused(read_text(npy_file(npy_header("<f4", "(2305843009213693951,)"), "abcd")),
          {"must have 9223372036854775804 bytes, got 4"}, malformed);
}

TEST(HostileNpy, EveryTruncationIsRefused) {
  for (const int version : {1, 2}) {
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
  std::string ones = "(";
  for (int i = 0; i < 33; ++i) ones += "1,";
  refused(read_shape(ones + ")"), {"at most 32 dimensions"}, malformed);
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
  refused(read_type(">f4"), {"little-endian, got '>f4'", "newbyteorder"}, unsupported);
}

TEST(HostileNpy, MessagesAreShortAndReplaceUnprintableBytes) {
  refused(read_header(npy_header("<\xFF\xFE", "()")), {"got '<?", "?'"}, malformed);
  refused(read_header(npy_header("<\x1B[31m", "()")), {"got '<?[31m'"}, malformed);
  refused(read_header("{'\xFF': 1}"), {"once each, got '?'"}, malformed);
  const auto array = read_header(npy_header("<" + std::string(2000, 'x'), "()"));
  ASSERT_FALSE(array);
  EXPECT_LE(array.error().message.size(), 200U);
}

TEST(HostileNpy, FortranOrderIsRefused) {
  const auto read_order = [](std::string_view order) {
    std::string header = "{'descr': '<f4', 'shape': (), 'fortran_order': ";
    return read_header(header.append(order).append("}"));
  };
  refused(read_order("True"), {"C order", "np.ascontiguousarray"}, unsupported);
  refused(read_order("0"), {"True or False as fortran_order"}, malformed);
}

TEST(HostileNpy, StructuredTypesAreRefused) {
  for (const char* descr : {"[('a', '<f4')]", "('<f4', (2,))", "[["}) {
    const std::string header =
        "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_TRUE(fails(read_text(npy_file(header, "abcd")), unsupported, {"structured"})) << descr;
  }
}

TEST(HostileNpy, MalformedHeaderDictsAreRefused) {
  for (const char* header : {
           "",
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
  refused(read_header("{'descr': '<f4', 'fortran_order': False}"),
          {"must have the keys descr, fortran_order and shape"}, malformed);
  refused(read_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"),
          {"must end after the dict, at byte"}, malformed);
  refused(read_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}"),
          {"once each, got 'more'"}, malformed);
  refused(read_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"),
          {"once each, got 'descr'"}, malformed);
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
