// SPDX-License-Identifier: Apache-2.0
// False NPY files that tests make in loops and tables. npy_corpus_test.cpp reads fuzz/corpus/npy.
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

// Any single wrong byte must give an error or another valid array.
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
  for (const char* shape : {exactly_2_63_bytes, "(9223372036854775807, 4, 0)"}) {
    refused(read_text(npy_file(npy_header("<f4", shape), "")), {"fewer than 2^63 bytes"},
            malformed);
  }
}

TEST(HostileNpy, WrongDimensionsAreRefused) {
  for (const char* shape : {"(-1,)",
                            "(1.0,)",
                            "(1e3,)",
                            "(0x10,)",
                            "(03,)",
                            "(3L,)",
                            "('3',)",
                            "(9223372036854775808,)",
                            "(99999999999999999999,)",
                            "(None,)",
                            "(3",
                            "(,)",
                            "(3,,)",
                            "(3 4)",
                            "((3,),)",
                            "3",
                            "[3]",
                            "(3)",
                            "",
                            "(3,4"}) {
    EXPECT_TRUE(fails(read_text(npy_file(npy_header("<f4", shape), "")), malformed, {})) << shape;
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
    EXPECT_TRUE(fails(read_type(descr), malformed, {"descr such as '<f4'"})) << descr;
  }
}

TEST(HostileNpy, StructuredTypesAreRefused) {
  for (const char* descr : {"[('a', '<f4')]", "('<f4', (2,))", "[["}) {
    const std::string header =
        "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_TRUE(fails(read_text(npy_file(header, "abcd")), unsupported, {"structured"})) << descr;
  }
}

TEST(HostileNpy, WrongDictsAreRefused) {
  for (const char* header : {
           "",
           "{}",
           "{,}",
           "[]",
           "{'descr': '<f4'}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': Falsey, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
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
