// SPDX-License-Identifier: Apache-2.0
#include "apps/npy/npy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "npy_bytes.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary::cli {
namespace {

using Shape = std::vector<std::int64_t>;
using rotary::test::refused;
using rotary::test::value_of;

TEST(ReadNpy, ReadsEachVersion) {
  for (const int version : {1, 2, 3}) {
    const NpyArray array = value_of(test::read_text(
        test::npy_file(test::npy_header("<i4", "(1, 2)"),
                       test::little_endian(7, 4) + test::little_endian(8, 4), version)));
    EXPECT_EQ(array.type, NpyType::i32);
    EXPECT_EQ(array.shape, (Shape{1, 2}));
    EXPECT_EQ(array.elements<std::int32_t>()[1], 8);
  }
}

TEST(ReadNpy, ReadsEachType) {
  for (const NpyType type : {NpyType::f16, NpyType::f32, NpyType::f64, NpyType::c64, NpyType::u16,
                             NpyType::i32, NpyType::i64}) {
    const std::string data(size_in_bytes(type) * 3, '\1');
    const NpyArray array =
        value_of(test::read_text(test::npy_file(test::npy_header(descr_of(type), "(3,)"), data)));
    EXPECT_EQ(array.type, type);
    EXPECT_EQ(array.data.size(), data.size());
  }
}

TEST(ReadNpy, AcceptsHeadersWithOtherOrderQuotesAndSpacing) {
  for (const char* header : {
           "{'shape':(2,),'descr':'<f4','fortran_order':False}",
           "  { \"fortran_order\" : False , \"shape\" : ( 2 , ) , \"descr\" : \"<f4\" }  \n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }              \n",
       }) {
    const NpyArray array = value_of(test::read_text(test::npy_file(header, std::string(8, '\0'))));
    EXPECT_EQ(array.shape, (Shape{2})) << header;
  }
}

TEST(ReadNpy, ReadsScalarsAndEmptyArrays) {
  EXPECT_EQ(value_of(test::read_text(test::npy_file(test::npy_header("<f4", "()"), "abcd"))).shape,
            Shape{});
  const NpyArray empty =
      value_of(test::read_text(test::npy_file(test::npy_header("<f4", "(0, 5)"), "")));
  EXPECT_EQ(empty.shape, (Shape{0, 5}));
  EXPECT_TRUE(empty.data.empty());
}

TEST(WriteNpy, WritesFilesThatReadBackEqual) {
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{2, 3}, Shape{1, 2, 3, 1}, Shape{0, 4}}) {
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape) count *= dimension;
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i - 3);
    const auto bytes = std::as_bytes(std::span<const std::int64_t>(numbers));
    const std::string file = write_npy(NpyType::i64, shape, bytes);
    EXPECT_EQ((file.size() - bytes.size()) % 64, 0u);
    const NpyArray array = value_of(test::read_text(file));
    EXPECT_EQ(array.type, NpyType::i64);
    EXPECT_EQ(array.shape, shape);
    const auto elements = array.elements<std::int64_t>();
    EXPECT_EQ(std::vector<std::int64_t>(elements.begin(), elements.end()), numbers);
  }
}

// A stream whose size is unknown until its end.
class Pipe : public ByteStream {
 public:
  explicit Pipe(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t count = bytes_.copy(reinterpret_cast<char*>(bytes.data()), bytes.size(), at_);
    at_ += count;
    return count;
  }
  [[nodiscard]] std::optional<std::uint64_t> bytes_left() const override { return {}; }
  [[nodiscard]] std::size_t taken() const { return at_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

// Returns a file larger than one read of the reader.
std::string large_file() {
  std::string data(3'500'000, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i % 251);
  return test::npy_file(test::npy_header("<f4", "(875000,)"), data);
}

TEST(ReadNpy, ReadsAPipe) {
  Pipe pipe(large_file());
  EXPECT_EQ(value_of(read_npy(pipe, test::any_number)).data,
            value_of(test::read_text(large_file())).data);
}

TEST(ReadNpy, RefusesAPipeWithTooFewOrTooManyBytes) {
  const std::string file = large_file();
  Pipe shorter(file.substr(0, file.size() - 1));
  refused(read_npy(shorter, test::any_number), {"must have 3500000 bytes, got 3499999: truncated?"},
          ErrorCode::malformed_input);
  Pipe longer(file + "more");
  refused(read_npy(longer, test::any_number), {"must have 3500000 bytes, got more"},
          ErrorCode::malformed_input);
  EXPECT_EQ(longer.taken(), file.size() + 1);
}

TEST(ReadNpy, ReadsNoDataOfAnArrayBeyondTheLimit) {
  Pipe pipe(large_file());
  refused(read_npy(pipe, {.elements = 874'999}),
          {"at most 874999 elements here, got the shape [875000]"}, ErrorCode::unsupported);
  EXPECT_EQ(pipe.taken(), large_file().size() - 3'500'000);
  EXPECT_TRUE(test::read_text(large_file(), {.elements = 875'000}));
  EXPECT_FALSE(test::read_text(large_file(), {.elements = 875'000, .of_one_axis = 9}));
  const std::string rows = test::npy_file(test::npy_header("<f4", "(1000, 0)"), "");
  EXPECT_TRUE(test::read_text(rows, {.elements = 1000, .of_one_axis = 9}));
  EXPECT_FALSE(test::read_text(rows, {.elements = 999}));
}

TEST(ReadNpy, StopsReadingAtAWrongMagic) {
  Pipe archive("PK\x03\x04" + large_file());
  EXPECT_FALSE(read_npy(archive, test::any_number));
  EXPECT_EQ(archive.taken(), 8u);
}

}  // namespace
}  // namespace rotary::cli
