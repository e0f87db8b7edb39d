// SPDX-License-Identifier: Apache-2.0
// Breaks each requirement in rotate.hpp once. The error must state requirement and value, and no
// byte may change.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/called.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"

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

// A valid call of rotate(). Tests change one thing about it.
struct RotateCall {
  Tensor dst_tensor = test::random_tensor({.extents = extents}, 28);
  Tensor src_tensor = test::random_tensor({.extents = extents}, 29);
  HeadsView dst = dst_tensor.view();
  ConstHeadsView src = src_tensor.view();
  Rotations rotations = rotations_with(2, 3);
  RotateOptions options;

  [[nodiscard]] auto written() const { return std::pair(dst_tensor.bytes(), src_tensor.bytes()); }
  [[nodiscard]] Status run() const { return test::called::rotate(dst, src, rotations, options); }
};

struct RotateQkCall {
  Tensor q_tensor = test::random_tensor({.extents = extents}, 28);
  Tensor k_tensor = test::random_tensor({.extents = extents}, 29);
  HeadsView q = q_tensor.view();
  HeadsView k = k_tensor.view();
  Rotations rotations = rotations_with(2, 3);

  [[nodiscard]] auto written() const { return std::pair(q_tensor.bytes(), k_tensor.bytes()); }
  [[nodiscard]] Status run() const { return test::called::rotate_qk(q, k, rotations); }
};

using RotateErrors = test::Refusals<RotateCall>;
using RotateErrorsOfTheCpuAlone = RotateErrors;
using RotateQkErrors = test::Refusals<RotateQkCall>;
using RotateQkErrorsOfTheCpuAlone = RotateQkErrors;

TEST_F(RotateErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(rotate(c.dst, c.src, c.rotations, c.options));
}

// A wrong k leaves q unchanged, and a wrong q leaves k unchanged.
TEST_F(RotateQkErrors, AWrongTensorLeavesBothUnchanged) {
  EXPECT_TRUE(rotate_qk(c.q, c.k, c.rotations));
  refuse(c.k.extents.tokens = 2, {"k: tokens", "3", "got 2"});
  refuse(c.q.extents.tokens = 2, {"q: tokens", "3", "got 2"});
}

TEST_F(RotateQkErrors, AnOverlapOfQAndKIsRefused) {
  refuse(c.k = c.q, {"q and k", "overlap"});
  c.k.extents.heads = 1;
  refuse(c.k.data = static_cast<float*>(c.q.data) + 3 * 16, {"q and k", "overlap"});  // last head
}

// A destination may equal its own source, but must overlap no other view. All checks end before the
// first write.
TEST_F(RotateQkErrorsOfTheCpuAlone, WrongOutOfPlaceViewsAreRefused) {
  Tensor q_tensor = test::random_tensor({.extents = extents}, 30);
  Tensor k_tensor = test::random_tensor({.extents = extents}, 31);
  const HeadsView q_out = c.q, k_out = c.k;
  const Transfer good_q{q_out, q_tensor.view()}, good_k{k_out, k_tensor.view()};
  const auto before = c.written();
  const auto refused = [&](const Transfer& of_q, const Transfer& of_k, test::Parts parts) {
    test::refused(rotate_qk_into(of_q, of_k, c.rotations), parts);
    EXPECT_EQ(c.written(), before);
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
  EXPECT_TRUE(rotate_qk_into({q_out, good_q.src}, {k_out, good_q.src}, c.rotations))
      << "q and k may have the same source";
}

TEST_F(RotateQkErrors, DifferentBatchesAreRefused) {
  c.rotations = rotations_with(1, 3);
  refuse(c.k.extents.batch = 1, {"batch", "q", "2", "1"});
}

TEST_F(RotateErrors, WrongExtentsAndTypesAreRefused) {
  refuse(c.dst.extents.features = c.src.extents.features = 14, {"head_dim", "16", "got 14"});
  refuse(c.rotations = rotations_with(2, 2), {"tokens", "2", "got 3"});
  refuse(c.rotations = rotations_with(3, 3), {"batch", "3", "got 2"});
  refuse(c.src.extents.heads = 3, {"same extents", "heads 4", "heads 3"});
  refuse(c.src.dtype = DType::bf16, {"same dtype", "f32", "bf16"});
  refuse(c.dst.dtype = c.src.dtype = static_cast<DType>(9),
         {"dtype", "f32", "bf16", "f16", "f64", "got", "9"});
  refuse(c.options.direction = static_cast<Direction>(0),
         {"direction", "forward", "inverse", "transpose", "0"});
  for (std::int64_t Extents::*axis : {&Extents::batch, &Extents::heads}) {
    c.rotations = rotations_with(1, 3);
    refuse(c.dst.extents.*axis = c.src.extents.*axis = -1, {"extents must be >= 0", "-1"});
  }
}

// Each element type needs rows of one type, which the message names.
TEST_F(RotateErrorsOfTheCpuAlone, RowsOfTheOtherTypeAreRefused) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    c.rotations = rotations_with(2, 3, RowDType::f64);
    refuse(c.dst.dtype = c.src.dtype = dtype,
           {"src", to_string(dtype), "RowDType::f32", "got f64 rows"});
  }
  c.dst.dtype = DType::f64;
  test::refused(rotate_qk(c.dst, c.dst, c.rotations), {"q", "RowDType::f64"});
  refuse(c.src.dtype = DType::f64, {"src", "f64 elements", "RowDType::f64", "got f32 rows"});
}

TEST_F(RotateErrors, NullAndMisalignedDataAreRefused) {
  refuse(c.dst.data = nullptr, {"dst", "null"});
  refuse(c.src.data = nullptr, {"src", "null"});
  refuse(c.dst.data = static_cast<std::byte*>(c.dst.data) + 1, {"dst", "aligned", "4"});
  refuse(c.src.data = static_cast<const std::byte*>(c.src.data) + 2, {"src", "aligned", "4"});
}

TEST_F(RotateErrors, RepeatedElementsOfDestinationsAreRefused) {
  for (std::int64_t Strides::*axis :
       {&Strides::batch, &Strides::token, &Strides::head, &Strides::feature})
    refuse(c.dst.strides.*axis = 0, {"dst", "distinct", " 0"});
  // With a stride of 8, heads of 16 features overlap by half.
  refuse(c.dst.strides.head = 8, {"dst", "distinct", "8"});
  c.dst.strides.head = 0;
  refuse(c.src = c.dst, {"dst", "distinct"});
}

TEST_F(RotateErrors, PartialOverlapsAreRefused) {
  for (const std::int64_t shift : {1, 2, 15, 16, 17, 32, 48, 63, 64, 127, -1, -16, -63}) {
    SCOPED_TRACE("shifted by " + std::to_string(shift));
    c.dst.extents = c.src.extents = {.batch = 1, .tokens = 2, .heads = 4, .features = 16};
    c.rotations = rotations_with(1, 2);
    c.dst.data = static_cast<float*>(c.dst.data) + 64;
    refuse(c.src.data = static_cast<const float*>(c.dst.data) + shift, {"dst", "src", "overlap"});
  }
}

TEST_F(RotateErrors, TwoLayoutsOfOneBufferAreRefused) {
  c.src.data = c.dst.data;
  refuse(c.src.strides = strides_bhtd(extents), {"overlap"});
  c.src.strides = {.batch = -c.dst.strides.batch, .token = 64, .head = 16};
  refuse(c.src.data = static_cast<const float*>(c.dst.data) + c.dst.strides.batch, {"overlap"});
}

TEST_F(RotateErrors, SizesThatOverflowAreRefused) {
  refuse(c.dst.extents.heads = c.src.extents.heads = highest, {"2^62", "9223372036854775807"});
  refuse(c.dst.extents.heads = c.src.extents.heads = std::int64_t{1} << 59,
         {"2^62", "576460752303423488"});
  for (const std::int64_t stride :
       {highest, -highest, std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 61})
    refuse(c.dst.strides.batch = stride, {"dst", "2^62", std::to_string(stride)});
  refuse(c.src.strides.token = highest, {"src", "2^62", "9223372036854775807"});
}

}  // namespace
}  // namespace rotary
