// SPDX-License-Identifier: Apache-2.0
// The errors of attend() that are about Shaw's vectors and about weights.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "support/attention/errors.hpp"

namespace rotary {
namespace {

using test::AttendErrors;
using test::highest;

TEST_F(AttendErrors, ShawTables) {
  std::vector<float> numbers(5 * 7 + 1, 0.5F);
  const auto table = [&](const ShawWindow& window, std::int64_t columns) {
    return ShawTable{window,
                     {.data = numbers.data(),
                      .dtype = DType::f32,
                      .rows = window.rows(),
                      .features = columns,
                      .row_stride = columns}};
  };
  ShawTable keys = table({2, 2}, 6);
  ShawTable values = table({4, 0}, 7);
  options.encoding = {.shaw_keys = &keys, .shaw_values = &values};
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  keys.window.left = -1;
  expect_refused({"shaw_keys: left and right must be from 0 to 2^40", "got -1 and 2"});
  keys.window.left = highest;
  expect_refused({"shaw_keys: left and right must be from 0 to 2^40"});
  keys.window = {2, 1};
  expect_refused({"shaw_keys: the table must have left + right + 1 = 4 rows of 6 features",
                  "got rows 5, columns 6"});
  keys = table({2, 2}, 7);
  expect_refused({"shaw_keys: the table must have", "5 rows of 6 features", "columns 7"});
  keys = table({2, 2}, 6);
  values = table({4, 0}, 6);
  expect_refused({"shaw_values: the table must have", "5 rows of 7 features", "columns 6"});
  values = table({4, 0}, 7);
  values.table.data = nullptr;
  expect_refused({"shaw_values: data must not be null"});
  values.table.data = numbers.data();
  keys.table.dtype = {};
  expect_refused({"shaw_keys: dtype must be f32, bf16, f16 or f64", "got value 0"});
  keys.table.dtype = DType::f32;
  keys.table.row_stride = highest;
  expect_refused({"shaw_keys: the view must span less than 2^62 bytes"});
  keys.table.row_stride = 6;
  keys.table.data = out.data;
  expect_refused({"out and shaw_keys must share no element"});
  keys.table.data = numbers.data();
  values.table.data = sums.data();
  values.table.row_stride = 0;
  expect_refused({"log_sum_exp and shaw_values must share no element"});
  values = table({4, 0}, 7);
  const RelativeBias bias(Alibi{.heads = 4});
  options.encoding.bias = &bias;
  expect_refused({"shaw_keys: must be without a bias"}, ErrorCode::unsupported);
  options.encoding.shaw_keys = nullptr;
  EXPECT_TRUE(attend(out, q, k, v, options));
}

TEST_F(AttendErrors, Weights) {
  const ScoresExtents extents{.batch = 2, .heads = 4, .queries = 3, .keys = 5};
  std::vector<float> numbers(2 * 4 * 3 * 5, 5.0F);
  const std::vector<float> before = numbers;
  const ScoresView good{numbers.data(), DType::f32, extents, strides_bhqk(extents)};
  options.weights = good;
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  options.weights->dtype = DType::bf16;
  expect_refused({"weights: must be f32 with batch 2, heads 4, queries 3, keys 5", "got bf16"});
  options.weights = good;
  options.weights->extents.keys = 4;
  expect_refused({"weights: must be f32", "keys 4"});
  options.weights = good;
  options.weights->strides.query = 4;
  expect_refused({"weights: elements of a destination must be distinct"});
  options.weights = good;
  options.weights->data = v.data;
  expect_refused({"weights and v must share no element"});
  options.weights->data = sums.data();
  options.weights->strides = {.batch = 1, .head = 2, .query = 8, .key = 24};
  expect_refused({"weights and log_sum_exp must share no element"});
  options.weights = good;
  options.weights->data = out.data;
  expect_refused({"weights and out must share no element"});
  options.weights = good;
  const std::size_t bytes = test::value_of(attend_bytes(q, k, v, options));
  std::vector<std::byte> room(bytes + 4096);
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  options.memory = std::span(room).subspan((64 - address % 64) % 64, bytes);
  options.weights->data = options.memory.data();
  expect_refused({"memory: must lie apart from weights"});
  options.memory = {};
  options.weights = good;
  options.sequences = sequences;
  pages.table.blocks_of_sequence = highest / 2;  // more slots than can be counted
  pages.table.stride = 0;
  expect_paged_refused({"blocks: "});
  EXPECT_EQ(numbers, before);
}

}  // namespace
}  // namespace rotary
