// SPDX-License-Identifier: Apache-2.0
// Every requirement stated in rotate.hpp, broken once: the error says it and what was got, and no
// byte has changed.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/called.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr Extents extents{.batch = 2, .tokens = 3, .heads = 4, .features = 16};
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

Rotations rotations_with(std::int64_t batch, std::int64_t tokens, RowDType rows = RowDType::f32) {
  const HeadWindow window{
      .head_dim = 16, .rotary_dim = 12, .first_feature = 2, .pairing = Pairing::half};
  const std::vector<std::int64_t> positions(static_cast<std::size_t>(batch * tokens), 9);
  return test::rotations_of(test::frequencies_of(window), positions_of(std::span(positions), batch),
                            rows);
}

// A destination and a source that rotate() accepts until one thing about them is changed.
class RotateErrors : public testing::Test {
 protected:
  RotateErrors()
      : dst_tensor_(test::random_tensor({.dtype = DType::f32, .extents = extents}, 28)),
        src_tensor_(test::random_tensor({.dtype = DType::f32, .extents = extents}, 29)),
        dst(dst_tensor_.view()),
        src(static_cast<const Tensor&>(src_tensor_).view()),
        q(dst),
        k(src_tensor_.view()),
        dst_bytes_(dst_tensor_.bytes()),
        src_bytes_(src_tensor_.bytes()) {}

  void expect_refused(std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(test::fails(test::called::rotate(dst, src, rotations, options),
                            ErrorCode::invalid_argument, parts));
    expect_nothing_written();
  }
  void expect_qk_refused(std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(
        test::fails(test::called::rotate_qk(q, k, rotations), ErrorCode::invalid_argument, parts));
    expect_nothing_written();
  }
  void expect_nothing_written() const {
    EXPECT_EQ(dst_tensor_.bytes(), dst_bytes_) << "dst has been written";
    EXPECT_EQ(src_tensor_.bytes(), src_bytes_) << "src has been written";
  }

 private:
  Tensor dst_tensor_;
  Tensor src_tensor_;

 protected:
  HeadsView dst;
  ConstHeadsView src;
  HeadsView q;
  HeadsView k;
  Rotations rotations = rotations_with(2, 3);
  RotateOptions options;

 private:
  std::vector<std::byte> dst_bytes_;
  std::vector<std::byte> src_bytes_;
};

using RotateErrorsOfTheCpuAlone = RotateErrors;

TEST_F(RotateErrors, NoneToBeginWith) {
  EXPECT_TRUE(rotate(dst, src, rotations, options));
  EXPECT_TRUE(rotate_qk(q, k, rotations));
}

// A bad k leaves q unchanged, and the other way round.
TEST_F(RotateErrors, OfOneOfQAndK) {
  k.extents.tokens = 2;
  expect_qk_refused({"k: tokens", "3", "got 2"});
  std::swap(q, k);
  expect_qk_refused({"q: tokens", "3", "got 2"});
}

TEST_F(RotateErrors, QAndKThatShareElements) {
  k = q;
  expect_qk_refused({"q and k", "overlap"});
  k.extents.heads = 1;
  k.data = static_cast<float*>(q.data) + 3 * 16;  // the last head
  expect_qk_refused({"q and k", "overlap"});
}

// Each written view is apart from all others, and nothing is written before
// all is checked.
TEST_F(RotateErrorsOfTheCpuAlone, QAndKOutOfPlace) {
  Tensor q_tensor = test::random_tensor({.dtype = DType::f32, .extents = extents}, 30);
  Tensor k_tensor = test::random_tensor({.dtype = DType::f32, .extents = extents}, 31);
  const HeadsView q_out = dst, k_out = k;
  const Transfer good_q{q_out, q_tensor.view()}, good_k{k_out, k_tensor.view()};
  const auto refused = [&](const Transfer& of_q, const Transfer& of_k,
                           std::initializer_list<std::string_view> parts) {
    const auto status = rotate_qk_into(of_q, of_k, rotations);
    EXPECT_TRUE(test::fails(status, ErrorCode::invalid_argument, parts));
    expect_nothing_written();
  };
  refused({q_out, good_q.src}, {q_out, good_k.src}, {"q_out and k_out", "overlap"});
  refused({q_out, good_q.src}, {k_out, q_out}, {"q_out and k ", "overlap"});
  refused({q_out, k_out}, {k_out, good_k.src}, {"k_out and q ", "overlap"});
  refused({q_out, q_out}, {k_out, q_out}, {"q and k ", "overlap"});
  HeadsView one_further = q_out;
  one_further.data = static_cast<float*>(q_out.data) + 1;
  refused({q_out, one_further}, good_k, {"q_out and q ", "overlap"});
  HeadsView bad = k_out;
  bad.strides.token = 0;
  refused(good_q, {bad, good_k.src}, {"k_out: elements of a destination"});
  bad = k_out;
  bad.extents.heads = 3;
  refused(good_q, {bad, good_k.src}, {"k_out and k must have the same extents"});
  bad = k_out;
  bad.extents.tokens = 2;
  refused(good_q, {bad, good_k.src}, {"k_out: tokens", "got 2"});
  refused(good_q, {k_out, bad}, {"k: tokens", "got 2"});
  EXPECT_TRUE(rotate_qk_into({q_out, good_q.src}, {k_out, good_q.src}, rotations)) << "one source";
}

TEST_F(RotateErrors, DifferentBatches) {
  rotations = rotations_with(1, 3);
  k.extents.batch = 1;
  expect_qk_refused({"batch", "q", "2", "1"});
}

TEST_F(RotateErrors, HeadDim) {
  dst.extents.features = src.extents.features = 14;
  expect_refused({"head_dim", "16", "got 14"});
}

TEST_F(RotateErrors, Tokens) {
  rotations = rotations_with(2, 2);
  expect_refused({"tokens", "2", "got 3"});
}

TEST_F(RotateErrors, Batch) {
  rotations = rotations_with(3, 3);
  expect_refused({"batch", "3", "got 2"});
}

TEST_F(RotateErrors, SourceOfAnotherShape) {
  src.extents.heads = 3;
  expect_refused({"same extents", "heads 4", "heads 3"});
}

TEST_F(RotateErrors, SourceOfAnotherType) {
  src.dtype = DType::bf16;
  expect_refused({"same dtype", "f32", "bf16"});
}

TEST_F(RotateErrors, TypeThatDoesNotExist) {
  dst.dtype = src.dtype = static_cast<DType>(9);
  expect_refused({"dtype", "f32", "bf16", "f16", "f64", "got", "9"});
}

// Each element type needs rows of one type; the message says which to make.
TEST_F(RotateErrorsOfTheCpuAlone, RowsOfTheOtherType) {
  rotations = rotations_with(2, 3, RowDType::f64);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    dst.dtype = src.dtype = dtype;
    expect_refused({"dst", to_string(dtype), "RowDType::f32", "got f64 rows"});
  }
  rotations = rotations_with(2, 3, RowDType::f32);
  dst.dtype = src.dtype = DType::f64;
  expect_refused({"dst", "f64 elements", "RowDType::f64", "got f32 rows"});
  EXPECT_TRUE(test::fails(rotate_qk(dst, dst, rotations), ErrorCode::invalid_argument,
                          {"q", "RowDType::f64"}));
}

TEST_F(RotateErrors, DirectionThatDoesNotExist) {
  options.direction = static_cast<Direction>(0);
  expect_refused({"direction", "forward", "inverse", "transpose", "0"});
}

TEST_F(RotateErrors, NegativeExtents) {
  for (std::int64_t Extents::*axis : {&Extents::batch, &Extents::heads}) {
    const HeadsView good = dst;
    dst.extents.*axis = src.extents.*axis = -1;
    rotations = rotations_with(1, 3);
    expect_refused({"extents must be >= 0", "-1"});
    dst = good;
    src.extents = good.extents;
  }
}

TEST_F(RotateErrors, NoData) {
  const HeadsView good = dst;
  dst.data = nullptr;
  expect_refused({"dst", "null"});
  dst = good;
  src.data = nullptr;
  expect_refused({"src", "null"});
}

TEST_F(RotateErrors, MisalignedData) {
  const HeadsView good = dst;
  dst.data = static_cast<std::byte*>(dst.data) + 1;
  expect_refused({"dst", "aligned", "4"});
  dst = good;
  src.data = static_cast<const std::byte*>(src.data) + 2;
  expect_refused({"src", "aligned", "4"});
}

TEST_F(RotateErrors, DestinationStrideOfZero) {
  for (std::int64_t Strides::*axis :
       {&Strides::batch, &Strides::token, &Strides::head, &Strides::feature}) {
    const Strides good = dst.strides;
    dst.strides.*axis = 0;
    expect_refused({"dst", "distinct", " 0"});
    dst.strides = good;
  }
}

TEST_F(RotateErrors, DestinationWithItselfTwice) {
  dst.strides.head = 8;  // heads of 16 features, half over each other
  expect_refused({"dst", "distinct", "8"});
}

TEST_F(RotateErrors, BroadcastInPlace) {
  dst.strides.head = 0;
  src = dst;
  expect_refused({"dst", "distinct"});
}

TEST_F(RotateErrors, OverlapByAnyAmount) {
  const auto* const start = static_cast<const float*>(dst.data);
  dst.extents = src.extents = {.batch = 1, .tokens = 1, .heads = 4, .features = 16};
  rotations = rotations_with(1, 1);
  for (const std::int64_t shift : {1, 2, 15, 16, 17, 32, 48, 63, -1, -16, -63}) {
    SCOPED_TRACE("shifted by " + std::to_string(shift));
    src.data = start + 64 + shift;
    HeadsView moved = dst;
    moved.data = static_cast<float*>(dst.data) + 64;
    const HeadsView good = dst;
    dst = moved;
    src.strides = dst.strides;
    expect_refused({"dst", "src", "overlap"});
    dst = good;
  }
}

TEST_F(RotateErrors, OverlapByOneToken) {
  dst.extents = src.extents = {.batch = 1, .tokens = 2, .heads = 4, .features = 16};
  rotations = rotations_with(1, 2);
  src.data = static_cast<const float*>(dst.data) + 64;
  src.strides = dst.strides;
  expect_refused({"overlap"});
}

TEST_F(RotateErrors, SameMemoryReadAnotherWay) {
  src.data = dst.data;
  src.strides = strides_bhtd(extents);
  expect_refused({"overlap"});
  src.strides = {.batch = -dst.strides.batch, .token = 64, .head = 16};
  src.data = static_cast<const float*>(dst.data) + dst.strides.batch;
  expect_refused({"overlap"});
}

TEST_F(RotateErrors, ExtentsThatOverflow) {
  dst.extents.heads = src.extents.heads = highest;
  expect_refused({"2^62", "9223372036854775807"});
  dst.extents.heads = src.extents.heads = std::int64_t{1} << 59;
  expect_refused({"2^62", "576460752303423488"});
}

TEST_F(RotateErrors, StridesThatOverflow) {
  for (const std::int64_t stride :
       {highest, -highest, std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 61}) {
    dst.strides.batch = stride;
    expect_refused({"dst", "2^62", std::to_string(stride)});
  }
}

TEST_F(RotateErrors, SourceStridesThatOverflow) {
  src.strides.token = highest;
  expect_refused({"src", "2^62", "9223372036854775807"});
}

// The stride of an axis with one element is never used, whatever it is.
TEST_F(RotateErrors, StrideOfAnExtentOfOneDoesNotMatter) {
  dst.extents = src.extents = {.batch = 1, .tokens = 1, .heads = 1, .features = 16};
  rotations = rotations_with(1, 1);
  for (std::int64_t Strides::*axis : {&Strides::batch, &Strides::token, &Strides::head}) {
    for (const std::int64_t stride :
         {std::int64_t{0}, std::int64_t{1}, highest, std::numeric_limits<std::int64_t>::min()}) {
      const Strides good = dst.strides;
      dst.strides.*axis = stride;
      src.strides.*axis = -1 - stride;
      EXPECT_TRUE(rotate(dst, src, rotations)) << stride;
      EXPECT_TRUE(rotate_qk(dst, HeadsView{nullptr, DType::f32, {1, 1, 0, 16}, good}, rotations));
      dst.strides = src.strides = good;
    }
  }
}

}  // namespace
}  // namespace rotary
