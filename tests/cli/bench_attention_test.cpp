// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bench/attention/attention_measure.hpp"
#include "bench/attention/peaks.hpp"

namespace rotary::bench {
namespace {

const BenchEncoding& encoding(std::string_view name) {
  const auto found = std::ranges::find(bench_encodings(), name, &BenchEncoding::name);
  EXPECT_NE(found, bench_encodings().end()) << name;
  return *found;
}

TEST(BenchAttention, FindsAWrongBitAndANanInTheLastQuery) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const AttentionStep step : {AttentionStep::prefill, AttentionStep::decode}) {
      const AttentionLine line{
          .encoding = &encoding("rope"),
          .step = step,
          .tokens = 70,
          .shape = {.heads = 4, .key_heads = 2, .head_dim = 8, .dtype = dtype}};
      const AttentionTensors tensors(line);
      const auto job = AttentionJob::make(line, tensors);
      ASSERT_TRUE(job);
      const auto right = verify(**job);
      ASSERT_TRUE(right);
      EXPECT_EQ(right->wrong, 0) << to_string(dtype) << right->worst;
      EXPECT_GT(right->worst, 0);
      EXPECT_EQ(right->elements, step == AttentionStep::prefill ? 7 * 32 : 32);
      // Spoils feature 7 of head 3 of the last query: first by a wrong bit, then by a NaN.
      const HeadsView out = tensors.out.view();
      auto* const last = static_cast<std::byte*>(out.data) + tensors.out.bytes() - 1;
      *last ^= std::byte{1};  // an exponent bit; in f16 a fraction bit
      const Verification wrong = verify_result(**job);
      EXPECT_EQ(wrong.wrong, 1);
      EXPECT_EQ(wrong.worst_position, line.queries() - 1);
      EXPECT_EQ(wrong.worst_head, 3);
      EXPECT_EQ(wrong.worst_feature, 7);
      *last = std::byte{0x7F};
      *(last - 1) = std::byte{0xFF};
      EXPECT_EQ(verify_result(**job).wrong, 1);
    }
  }
}

TEST(BenchAttention, RefusesTheResultOfEveryOtherEncoding) {
  AttentionLine line{
      .encoding = &encoding("none"), .tokens = 40, .shape = {.heads = 2, .key_heads = 2}};
  const AttentionTensors tensors(line);
  std::vector<std::unique_ptr<AttentionJob>> jobs;
  for (const BenchEncoding& each : bench_encodings()) {
    line.encoding = &each;
    auto job = AttentionJob::make(line, tensors);
    ASSERT_TRUE(job) << each.name;
    jobs.push_back(*std::move(job));
  }
  for (const auto& ran : jobs) {
    ASSERT_TRUE(ran->run(1));
    for (const auto& expected : jobs) {
      EXPECT_EQ(verify_result(*expected).wrong == 0, expected == ran)
          << ran->line().encoding->name << " for " << expected->line().encoding->name;
    }
  }
}

TEST(BenchAttention, SamplesTheFirstAndTheLastQuery) {
  EXPECT_EQ(sampled_queries(1), std::vector<std::int64_t>({0}));
  EXPECT_EQ(sampled_queries(2), std::vector<std::int64_t>({0, 1}));
  EXPECT_EQ(sampled_queries(4096), std::vector<std::int64_t>({0, 1, 7, 63, 256, 2048, 4094, 4095}));
}

TEST(BenchAttention, GoalsDependOnEncodingStepTokensAndThreads) {
  struct Case {
    std::string_view name;
    AttentionStep step;
    std::int64_t tokens;
    double limit;  // 0: no goal
    std::int64_t threads = 1;
  };
  for (const Case& each : std::vector<Case>{
           {"none", AttentionStep::prefill, 1024, 0},
           {"none", AttentionStep::prefill, 2048, 0.70},
           {"none", AttentionStep::decode, 16'384, 0},
           {"none", AttentionStep::decode, 32'768, 0.85},
           {"rope", AttentionStep::prefill, 256, 0},
           {"rope", AttentionStep::prefill, 512, 1.03},
           {"t5", AttentionStep::prefill, 8192, 1.03},
           {"t5", AttentionStep::decode, 32'768, 0},
           {"fire", AttentionStep::prefill, 8192, 0},
           {"shaw_keys", AttentionStep::prefill, 256, 0},
           {"shaw_keys", AttentionStep::prefill, 1024, 1.25},
           {"shaw_keys", AttentionStep::prefill, 2048, 1.13},
           {"shaw", AttentionStep::prefill, 8192, 1.12},
           {"shaw", AttentionStep::decode, 8192, 0},
           {"int8", AttentionStep::prefill, 8192, 0},
           {"int8", AttentionStep::decode, 8192, 0},
           {"int8", AttentionStep::decode, 32'768, 0.35},
           {"none", AttentionStep::prefill, 1024, 0, 2},
           {"none", AttentionStep::prefill, 2048, 1.9, 2},
           {"none", AttentionStep::prefill, 2048, 3.8, 4},
           {"none", AttentionStep::decode, 16'384, 0, 2},
           {"none", AttentionStep::decode, 32'768, 0.90, 2},
           {"rope", AttentionStep::prefill, 2048, 0, 2},
           {"int8", AttentionStep::decode, 32'768, 0, 2},
       }) {
    const auto goal = goal_of({.encoding = &encoding(each.name),
                               .step = each.step,
                               .tokens = each.tokens,
                               .threads = each.threads});
    EXPECT_EQ(goal ? goal->limit : 0, each.limit) << each.name << ' ' << each.tokens;
  }
}

TEST(BenchAttention, AnInt8CacheHasAScaleForEachHeadAndItsOwnGoal) {
  AttentionLine decode{.encoding = &encoding("int8"),
                       .step = AttentionStep::decode,
                       .tokens = 5,
                       .shape = {.heads = 6, .key_heads = 2, .head_dim = 10}};
  EXPECT_EQ(cache_bytes(decode), 2 * 5 * 2 * (10 + 4));
  decode.tokens = 32'768;
  EXPECT_EQ(goal_of(decode)->limit, 0.5) << "the goal for three query heads per key head";
}

TEST(BenchPeaks, CountMultiplyAddsAndReadOnlyTheGivenBytes) {
  EXPECT_GT(multiply_and_add(1), 0);
  EXPECT_EQ(multiply_and_add(6), 2 * multiply_and_add(3));
  for (const std::size_t count : {0U, 1U, 63U, 300U}) {
    const std::vector<std::byte> bytes(count);  // AddressSanitizer finds reads beyond it
    read_bytes(bytes.data(), count);
  }
}

}  // namespace
}  // namespace rotary::bench
