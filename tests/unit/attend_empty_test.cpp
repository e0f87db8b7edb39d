// SPDX-License-Identifier: Apache-2.0
// Calls of attend() in which no query has a key to attend to. They take no memory and write zeros.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "rotary/attention.hpp"
#include "support/attention/errors.hpp"

namespace rotary {
namespace {

constexpr std::byte untouched{0xA5};

// Calls get only the first 64 bytes. The rest shows whether they write beyond.
alignas(64) std::array<std::byte, std::size_t{1} << 20> guarded_room;

class AttendEmpty : public testing::Test, protected test::AttendCall {
 protected:
  AttendEmpty() {
    for (AttentionSequence& sequence : sequences) sequence.queries = 0;
    options.sequences = sequences;
  }

  // Expects zeros without and with memory from the caller. The memory must not change.
  template <class Keys>
  void expect_zeros(const Keys& attend_to, const Result<std::size_t>& bytes) {
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, 0U);
    options.memory = {};
    expect_zeros(attend_to());
    options.memory = std::span(guarded_room).first(64);
    guarded_room.fill(untouched);
    expect_zeros(attend_to());
    EXPECT_EQ(std::ranges::count(guarded_room, untouched), std::ssize(guarded_room));
  }

  void expect_zeros(const Status& status) {
    ASSERT_TRUE(status) << status.error().message;
    for (const float sum : sums) EXPECT_EQ(sum, -std::numeric_limits<float>::infinity());
    const auto* const elements = static_cast<const float*>(out.data);
    for (std::size_t i = 0; i < sums.size() * 7; ++i) EXPECT_EQ(elements[i], 0) << i;
    std::ranges::fill(sums, 5.0F);
    std::fill_n(static_cast<float*>(out.data), sums.size() * 7, 5.0F);
  }
};

// Biases for the 4 heads of q.
std::vector<RelativeBias> biases() {
  static const std::vector<double> numbers(32, 0.5);
  const std::vector<double> four(4, 0.5);
  return {T5Bias{.buckets = {.buckets = 8, .max_distance = 20, .direction = T5Direction::causal},
                 .table = {numbers.data(), DType::f64, 8, 4, 4}},
          Alibi{.heads = 4},
          KerpleLog{.p = four, .a = four},
          KerplePower{.a = four, .p = four},
          Fire{.hidden_weight = {0.5, -0.5, 1},
               .hidden_bias = {-0.1, 0.2, -0.3},
               .output_weight = std::vector<double>(12, 0.5),
               .output_bias = four},
          Sandwich{.dim = 6, .heads = 4}};
}

TEST_F(AttendEmpty, WritesZerosForEachBias) {
  for (const RelativeBias& bias : biases()) {
    SCOPED_TRACE(to_string(bias));
    options.encoding.bias = &bias;
    expect_zeros([&] { return attend(out, q, k, v, options); }, attend_bytes(q, k, v, options));
    expect_zeros([&] { return attend(out, q, pages, options); }, attend_bytes(q, pages, options));
  }
}

// Weights without keys hold no element, so their strides are not used.
TEST_F(AttendEmpty, IgnoresStridesOfWeightsWithoutKeys) {
  k.extents.tokens = v.extents.tokens = 0;
  for (AttentionSequence& sequence : sequences) sequence.queries = sequence.keys = 0;
  sequences[0].queries = 3;
  options.weights = ScoresView{
      .dtype = DType::f32, .extents = {2, 4, 3, 0}, .strides = {test::lowest, test::highest, 7, 9}};
  expect_zeros(attend(out, q, k, v, options));
}

// Outputs without features hold no element, so their data may be null.
TEST_F(AttendEmpty, AcceptsOutputsWithoutFeatures) {
  const HeadsView no_out{.dtype = DType::f32, .extents = {2, 3, 4, 0}};
  const HeadsView no_v{.dtype = DType::f32, .extents = {2, 5, 2, 0}};
  const Status status = attend(no_out, q, k, no_v, options);
  ASSERT_TRUE(status) << status.error().message;
  for (const float sum : sums) EXPECT_EQ(sum, -std::numeric_limits<float>::infinity());
}

TEST_F(AttendEmpty, DoesNotReadATableWithoutSequences) {
  options.sequences = {};
  pages.table = {.blocks = nullptr, .sequences = 0, .blocks_of_sequence = 1, .stride = 1};
  expect_zeros([&] { return attend(out, q, pages, options); }, attend_bytes(q, pages, options));
}

TEST_F(AttendEmpty, CallsNoExecutor) {
  options.executor = {
      .run = [](void*, std::int64_t, ExecutorTask, void*) { ADD_FAILURE() << "run was called"; },
      .concurrency = 8};
  expect_zeros([&] { return attend(out, q, k, v, options); }, attend_bytes(q, k, v, options));
}

}  // namespace
}  // namespace rotary
