// SPDX-License-Identifier: Apache-2.0
#include "rotary/tensor_view.hpp"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "rotary/positions.hpp"

namespace rotary {
namespace {

constexpr Extents extents{.batch = 2, .tokens = 3, .heads = 5, .features = 7};

TEST(TensorView, ContiguousStrides) {
  EXPECT_EQ(strides_bthd(extents),
            (Strides{.batch = 3 * 5 * 7, .token = 5 * 7, .head = 7, .feature = 1}));
  EXPECT_EQ(strides_bhtd(extents),
            (Strides{.batch = 3 * 5 * 7, .token = 7, .head = 3 * 7, .feature = 1}));
}

TEST(TensorView, BytesOfATypeAreItsSize) {
  EXPECT_EQ(size_in_bytes(DType::f32), 4);
  EXPECT_EQ(size_in_bytes(DType::bf16), 2);
  EXPECT_EQ(size_in_bytes(DType::f16), 2);
  EXPECT_EQ(size_in_bytes(DType::f64), 8);
  EXPECT_EQ(size_in_bytes(static_cast<DType>(0)), 0);
}

TEST(TensorView, NamesOfTypes) {
  EXPECT_EQ(to_string(DType::f32), "f32");
  EXPECT_EQ(to_string(DType::bf16), "bf16");
  EXPECT_EQ(to_string(DType::f16), "f16");
  EXPECT_EQ(to_string(DType::f64), "f64");
  EXPECT_EQ(to_string(static_cast<DType>(5)), "unknown");
}

TEST(TensorView, AViewToWriteIsAViewToRead) {
  float value = 0;
  const HeadsView writable{&value, DType::f32, extents, strides_bthd(extents)};
  const ConstHeadsView readable = writable;
  EXPECT_EQ(readable.data, &value);
  EXPECT_EQ(readable, (ConstHeadsView{&value, DType::f32, extents, strides_bthd(extents)}));
}

TEST(Positions, OfSpans) {
  const std::vector<std::int32_t> six(6);
  const auto one_row = positions_of(std::span(six));
  EXPECT_EQ(one_row.data, six.data());
  EXPECT_EQ(one_row.batch, 1);
  EXPECT_EQ(one_row.tokens, 6);
  EXPECT_EQ(one_row.token_stride, 1);
  const auto three_rows = positions_of(std::span(six), 3);
  EXPECT_EQ(three_rows.batch, 3);
  EXPECT_EQ(three_rows.tokens, 2);
  EXPECT_EQ(three_rows.batch_stride, 2);
}

}  // namespace
}  // namespace rotary
