// SPDX-License-Identifier: Apache-2.0
// NPY files with false content, each refused with an error that says why. They cover the classes of
// faults that public readers of the format have had: lengths beyond the buffer, products that
// overflow, allocation before checking, pickles.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cli/npy/npy.hpp"
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

// Any single wrong byte gives an error or another valid array.
TEST(HostileNpy, EveryChangedHeaderByteIsHandled) {
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

TEST(HostileNpy, MagicAndVersion) {
  const std::string file = npy_file(npy_header("<f4", "(1,)"), "abcd");
  refused(read_text("PK\x03\x04 an archive"), {"must begin with"}, malformed);
  for (const char version : {'\0', '\4', '\xFF'}) {
    std::string changed = file;
    changed[6] = version;
    refused(read_text(changed), {"version must be 1.0, 2.0 or 3.0"}, unsupported);
  }
  std::string minor = file;
  minor[7] = 1;
  refused(read_text(minor), {"got 1.1"}, unsupported);
}

TEST(HostileNpy, HeaderLengths) {
  const std::string magic_2("\x93NUMPY\x02\x00", 8);
  const std::string magic_1("\x93NUMPY\x01\x00", 8);
  refused(read_text(magic_2 + test::little_endian(0xFFFFFFF0, 4) + "{}"),
          {"at most 65536 bytes, got 4294967280"}, malformed);
  refused(read_text(magic_2 + test::little_endian(60000, 4) + "{}"),
          {"60000 bytes it announces, got 2"}, malformed);
  refused(read_text(magic_1 + test::little_endian(0xFFFF, 2) + "{}"),
          {"65535 bytes it announces, got 2"}, malformed);
  refused(read_text(magic_1 + test::little_endian(0, 2)), {"Python dict"}, malformed);
}

TEST(HostileNpy, ShapesThatOverflow) {
  for (const char* shape : {
           "(4294967296, 4294967296)",     // 2^64 elements
           "(4611686018427387904, 4)",     // 2^64 elements, product 0 in 64 bits
           "(4611686018427387905, 4)",     // product 4 in 64 bits
           "(9223372036854775807,)",       // bytes overflow, elements do not
           "(0, 9223372036854775807, 4)",  // a 0 does not hide it
           "(9223372036854775807, 4, 0)",  //
           "(2305843009213693952,)",       // exactly 2^63 bytes
       }) {
    EXPECT_TRUE(fails(read_text(npy_file(npy_header("<f4", shape), "")), malformed,
                      {"fewer than 2^63 bytes"}))
        << shape;
  }
  // Large, but only refused for the missing data: nothing of that size is allocated.
  refused(read_text(npy_file(npy_header("<f4", "(2305843009213693951,)"), "abcd")),
          {"must have 9223372036854775804 bytes, got 4"}, malformed);
}

TEST(HostileNpy, DimensionsThatAreNone) {
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

TEST(HostileNpy, TooManyDimensions) {
  std::string shape = "(";
  for (int i = 0; i < 33; ++i) shape += "1,";
  refused(read_text(npy_file(npy_header("<f4", shape + ")"), "abcd")), {"at most 32 dimensions"},
          malformed);
}

TEST(HostileNpy, TypesThatAreRefused) {
  const auto read_type = [](std::string_view descr) {
    return read_text(npy_file(npy_header(descr, "(1,)"), "abcdefgh"));
  };
  refused(read_type("|O"), {"pickles"}, unsupported);
  refused(read_type("<O8"), {"pickles"}, unsupported);
  refused(read_type(">f4"), {"little-endian", "newbyteorder"}, unsupported);
  for (const char* descr :
       {"<f16", "<f1", "<u4", "|b1", "|u1", "|S8", "<U2", "|V8", "<c16", "=f4"}) {
    EXPECT_TRUE(fails(read_type(descr), unsupported, {"'<f8', '<u2'", descr})) << descr;
  }
  for (const char* descr : {"", "<", "<ixy", "f4", "float32", "<f4junk", "<f-4", " <f4"}) {
    EXPECT_TRUE(fails(read_type(descr), malformed, {"descr such as '<f4'"})) << descr;
  }
}

TEST(HostileNpy, StructuredTypesAndFortranOrder) {
  for (const char* descr : {"[('a', '<f4')]", "('<f4', (2,))", "[["}) {
    const std::string header =
        "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,)}";
    EXPECT_TRUE(fails(read_text(npy_file(header, "abcd")), unsupported, {"structured"})) << descr;
  }
  refused(read_text(npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", "abcd")),
          {"np.ascontiguousarray"}, unsupported);
}

TEST(HostileNpy, DictsThatAreWrong) {
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

TEST(HostileNpy, DeepNestingNeedsNoStack) {
  for (const char bracket : {'(', '[', '{'}) {
    const std::string deep(60000, bracket);
    EXPECT_FALSE(read_text(npy_file(deep, "")));
    EXPECT_FALSE(read_text(npy_file("{'shape': " + deep, "")));
    EXPECT_FALSE(read_text(npy_file("{'descr': " + deep, "")));
  }
}

}  // namespace
}  // namespace rotary::cli
