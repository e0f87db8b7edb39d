// SPDX-License-Identifier: Apache-2.0
// Every member of a struct of rotary.h arrives at the right place: each has a different value here.
#include "c_api/values.hpp"

#include <gtest/gtest.h>

#include <array>

#include "c_api/kv_cache_values.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

TEST(CValues, HeadsView) {
  float data = 0;
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  EXPECT_EQ(value_of(c_api::heads_view("q", &view)).extents, Extents{});
  EXPECT_EQ(value_of(c_api::heads_view("q", &view)).strides, Strides{});
  view = {.struct_size = sizeof view,
          .data = &data,
          .dtype = ROTARY_F16,
          .reserved = 0,
          .extents = {1, 2, 3, 4},
          .strides = {5, 6, 7, -8}};
  const HeadsView got = value_of(c_api::heads_view("q", &view));
  EXPECT_EQ(got.data, &data);
  EXPECT_EQ(got.dtype, DType::f16);
  EXPECT_EQ(got.extents, (Extents{.batch = 1, .tokens = 2, .heads = 3, .features = 4}));
  EXPECT_EQ(got.strides, (Strides{.batch = 5, .token = 6, .head = 7, .feature = -8}));
}

TEST(CValues, ConsecutivePositions) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  positions.first = -5;
  positions.tokens = 6;
  const auto got = std::get<ConsecutivePositions>(value_of(c_api::positions(&positions)));
  EXPECT_EQ(got.first, -5);
  EXPECT_EQ(got.tokens, 6);
}

template <class Number>
void expect_array(std::int32_t kind) {
  const Number data = 0;
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  const TokenArray<Number> defaults;
  positions.kind = kind;
  auto got = std::get<TokenArray<Number>>(value_of(c_api::positions(&positions)));
  EXPECT_EQ(got.batch, defaults.batch);
  EXPECT_EQ(got.axes, defaults.axes);
  EXPECT_EQ(got.token_stride, defaults.token_stride);
  positions.data = &data;
  positions.batch = 2;
  positions.tokens = 3;
  positions.batch_stride = -4;
  positions.token_stride = 5;
  positions.axes = 6;
  positions.axis_stride = 7;
  got = std::get<TokenArray<Number>>(value_of(c_api::positions(&positions)));
  EXPECT_EQ(got.data, &data);
  EXPECT_EQ(got.batch, 2);
  EXPECT_EQ(got.tokens, 3);
  EXPECT_EQ(got.batch_stride, -4);
  EXPECT_EQ(got.token_stride, 5);
  EXPECT_EQ(got.axes, 6);
  EXPECT_EQ(got.axis_stride, 7);
}

TEST(CValues, PositionArrays) {
  expect_array<std::int32_t>(ROTARY_POSITIONS_INT32);
  expect_array<std::int64_t>(ROTARY_POSITIONS_INT64);
  expect_array<double>(ROTARY_POSITIONS_F64);
}

TEST(CValues, Window) {
  rotary_window window = ROTARY_WINDOW_INIT;
  window.head_dim = 10;
  window.rotary_dim = 6;
  window.first_feature = 3;
  window.pairing = ROTARY_PAIRING_INTERLEAVED;
  const HeadWindow got = value_of(c_api::window(&window));
  EXPECT_EQ(got.head_dim, 10);
  EXPECT_EQ(got.rotary_dim, 6);
  EXPECT_EQ(got.first_feature, 3);
  EXPECT_EQ(got.pairing.get(), Pairing::interleaved);
  EXPECT_EQ(got.blocks, 1);
  window.blocks = 3;
  EXPECT_EQ(value_of(c_api::window(&window)).blocks, 3);
}

TEST(CValues, CosSin) {
  const std::array<float, 2> data{};
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  const CosSinView defaults;
  CosSinView got = value_of(c_api::cos_sin(&rows));
  EXPECT_EQ(got.dtype, defaults.dtype);
  EXPECT_EQ(got.batch, defaults.batch);
  EXPECT_EQ(got.pair_stride, defaults.pair_stride);
  EXPECT_EQ(got.attention_factor, defaults.attention_factor);
  rows = {.struct_size = sizeof rows,
          .cos = &data[0],
          .sin = &data[1],
          .dtype = ROTARY_BF16,
          .reserved = 0,
          .batch = 2,
          .tokens = 3,
          .batch_stride = 4,
          .token_stride = 5,
          .pair_stride = 6,
          .attention_factor = 1.5};
  got = value_of(c_api::cos_sin(&rows));
  EXPECT_EQ(got.cos, &data[0]);
  EXPECT_EQ(got.sin, &data[1]);
  EXPECT_EQ(got.dtype, DType::bf16);
  EXPECT_EQ(got.batch, 2);
  EXPECT_EQ(got.tokens, 3);
  EXPECT_EQ(got.batch_stride, 4);
  EXPECT_EQ(got.token_stride, 5);
  EXPECT_EQ(got.pair_stride, 6);
  EXPECT_EQ(got.attention_factor, 1.5);
}

TEST(CValues, RotationsOptions) {
  double memory = 0;
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  EXPECT_EQ(value_of(c_api::rotations_options(&options)).rows, RowDType::f32);
  EXPECT_TRUE(value_of(c_api::rotations_options(nullptr)).memory.empty());
  EXPECT_EQ(value_of(c_api::rotations_options(&options)).tensors, std::nullopt);
  options.rows = ROTARY_F64;
  options.tensors = ROTARY_F64;
  options.memory = &memory;
  options.memory_bytes = sizeof memory;
  const RotationsOptions got = value_of(c_api::rotations_options(&options));
  EXPECT_EQ(got.rows, RowDType::f64);
  EXPECT_EQ(got.tensors, DType::f64);
  EXPECT_EQ(static_cast<void*>(got.memory.data()), &memory);
  EXPECT_EQ(got.memory.size(), sizeof memory);
}

TEST(CValues, RotateOptions) {
  int context = 0;
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  EXPECT_EQ(value_of(c_api::rotate_options(nullptr)).direction, Direction::forward);
  EXPECT_EQ(value_of(c_api::rotate_options(&options)).direction, Direction::forward);
  EXPECT_EQ(value_of(c_api::rotate_options(&options)).executor.run, nullptr);
  EXPECT_EQ(value_of(c_api::rotate_options(&options)).executor.concurrency, 1);
  executor.context = &context;
  executor.run = [](void*, std::int64_t, rotary_task, void*) {};
  executor.concurrency = 7;
  options.direction = ROTARY_TRANSPOSE;
  options.executor = &executor;
  const RotateOptions got = value_of(c_api::rotate_options(&options));
  EXPECT_EQ(got.direction, Direction::transpose);
  EXPECT_EQ(got.executor.context, &context);
  EXPECT_EQ(got.executor.run, executor.run);
  EXPECT_EQ(got.executor.concurrency, 7);
}

TEST(CValues, TokenArray) {
  const std::int64_t data = 0;
  const rotary_slots slots = {.struct_size = sizeof slots,
                              .kind = ROTARY_SLOTS_INT64,
                              .reserved = 0,
                              .first = 0,
                              .data = &data,
                              .batch = 2,
                              .tokens = 3,
                              .batch_stride = 4,
                              .token_stride = -5};
  const auto got = std::get<TokenArray<std::int64_t>>(value_of(c_api::slots(&slots)));
  EXPECT_EQ(got.data, &data);
  EXPECT_EQ(got.batch, 2);
  EXPECT_EQ(got.tokens, 3);
  EXPECT_EQ(got.batch_stride, 4);
  EXPECT_EQ(got.token_stride, -5);
}

TEST(CValues, AppendOptions) {
  const std::array<float, 2> weight{};
  const rotary_head_norm norm = {.struct_size = sizeof norm,
                                 .weight = weight.data(),
                                 .weight_count = 2,
                                 .weight_offset = 0.5,
                                 .epsilon = 0.25,
                                 .over = ROTARY_NORM_OVER_ALL_HEADS,
                                 .reserved = 0};
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  rotary_append_options options = ROTARY_APPEND_OPTIONS_INIT;
  EXPECT_FALSE(value_of(c_api::append_options(nullptr)).k_norm);
  executor.concurrency = 7;
  options.executor = &executor;
  options.k_norm = &norm;
  options.k_norm_order = ROTARY_NORM_AFTER_ROTATION;
  const AppendOptions got = value_of(c_api::append_options(&options));
  EXPECT_EQ(got.executor.concurrency, 7);
  EXPECT_EQ(got.k_norm->order, NormOrder::after_rotation);
  EXPECT_EQ(got.k_norm->norm.over, NormOver::all_heads);
  EXPECT_EQ(got.k_norm->norm.weight.data(), weight.data());
  EXPECT_EQ(got.k_norm->norm.weight.size(), 2U);
  EXPECT_EQ(got.k_norm->norm.weight_offset, 0.5);
  EXPECT_EQ(got.k_norm->norm.epsilon, 0.25);
}

}  // namespace
}  // namespace rotary
