// SPDX-License-Identifier: Apache-2.0
// Compares attend() with the reference for every encoding, mask, dtype and layout, within the
// published bound. Also tests that hidden keys and pages change no bit. The fuzz target attend
// covers executors and memory.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/attention/attend_samples.hpp"
#include "support/attention/attended.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::is_right;
using test::Layout;
using test::scale_for;
using test::small;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr AttentionMask causal{.order = AttentionOrder::causal};
constexpr AttentionMask bidirectional{.order = AttentionOrder::bidirectional};

TEST(Attend, IsWithinTheBoundForEveryEncodingAndMask) {
  const std::vector<test::NamedMask> masks = test::attend_masks();
  std::uint64_t seed = 100;
  for (const test::EncodingSample& encoding : test::attend_encodings(small)) {
    for (const test::NamedMask& mask : masks) {
      SCOPED_TRACE(encoding.name + ", " + mask.name);
      if (!test::meet(encoding, mask)) continue;
      AttendCase each = test::case_of(small, encoding, mask);
      each.seed = seed += 10;
      ASSERT_TRUE(is_right(each));
    }
  }
}

// In cases 0 to 2 only out has another dtype. Later q and k differ too, in case 4 also k and v.
TEST(Attend, IsWithinTheBoundForAnyDTypes) {
  const DType dtypes[] = {DType::f32, DType::bf16, DType::f16};
  std::uint64_t seed = 200;
  for (const std::int64_t queries : {2, 9}) {
    test::AttentionShape shape = small;
    shape.queries = queries;
    for (const test::EncodingSample& encoding : test::attend_encodings(shape)) {
      if (!encoding.encoding.rotary && encoding.name != "none") continue;
      for (int i = 0; i < 9; ++i) {
        const DType first = dtypes[i % 3];
        const DType second = dtypes[(i / 3 + i) % 3];
        const bool mixed = i == 4;
        SCOPED_TRACE(encoding.name + " " + std::to_string(i));
        ASSERT_TRUE(is_right({.shape = shape,
                              .encoding = encoding.encoding,
                              .mask = {.order = AttentionOrder::causal, .left = 11, .sinks = 2},
                              .scale = scale_for(12),
                              .q = {.dtype = first},
                              .k = {.dtype = second},
                              .v = {.dtype = mixed ? first : second},
                              .out = {.dtype = dtypes[(i + 1) % 3]},
                              .seed = seed += 10}));
      }
    }
  }
}

TEST(Attend, IsWithinTheBoundForAnyLayoutOfAdjacentFeatures) {
  const Layout layouts[] = {Layout::bthd, Layout::bhtd, Layout::fused_qkv, Layout::padded,
                            Layout::reversed_tokens};
  for (const std::int64_t queries : {1, 3, 9}) {
    test::AttentionShape shape = small;
    shape.queries = queries;
    for (std::size_t i = 0; i < 10; ++i) {
      SCOPED_TRACE(i);
      const DType dtype = i % 2 == 0 ? DType::f32 : DType::bf16;
      AttendCase made_of{.shape = shape,
                         .scale = scale_for(12),
                         .q = {dtype, layouts[i % 5]},
                         .k = {dtype, layouts[(i + 1) % 5]},
                         .v = {dtype, layouts[(i + 2) % 5]},
                         .out = {dtype, layouts[(i + 3) % 5]},
                         .seed = 300 + i};
      Attended call(made_of);
      test::require(call.run());
      ASSERT_TRUE(call.is_right());
      made_of.q = made_of.k = made_of.v = made_of.out = {.dtype = dtype};
      Attended plain(made_of);
      test::require(plain.run());
      EXPECT_EQ(call.bits(), plain.bits());
    }
  }
}

TEST(Attend, IsWithinTheBoundForAnySizes) {
  // Batch, queries, keys, heads, heads of k, features, features of v.
  const test::AttentionShape all[] = {
      {1, 0, 5, 2, 1, 64, 64},     {1, 3, 0, 2, 1, 64, 64},      {1, 1, 1, 1, 1, 1, 1},
      {1, 2, 255, 2, 2, 2, 3},     {1, 7, 256, 3, 1, 3, 1},      {1, 8, 257, 2, 2, 16, 16},
      {1, 9, 256, 2, 2, 63, 65},   {1, 13, 300, 8, 2, 64, 64},   {1, 49, 257, 4, 4, 65, 63},
      {1, 12, 700, 5, 1, 80, 80},  {1, 1, 700, 8, 1, 128, 128},  {1, 2, 513, 8, 4, 128, 128},
      {1, 4, 257, 2, 1, 128, 16},  {1, 1, 300, 16, 1, 576, 512}, {1, 3, 40, 2, 1, 576, 512},
      {1, 1033, 1033, 1, 1, 4, 4}, {1, 520, 600, 2, 1, 2, 3},    {1, 100, 300, 22, 1, 6, 5},
      {1, 2, 5, 2, 1, 0, 3},       {1, 2, 5, 2, 1, 4, 0},        {1, 300, 40, 4, 4, 8, 8}};
  std::uint64_t seed = 400;
  for (const test::AttentionShape& s : all) {
    for (const AttentionMask& mask :
         {causal, AttentionMask{.order = AttentionOrder::bidirectional, .left = 300, .sinks = 5}}) {
      SCOPED_TRACE(std::to_string(s.features) + " features, " + std::to_string(s.queries) +
                   " queries, " + std::to_string(s.keys) + " keys");
      ASSERT_TRUE(is_right({.shape = s,
                            .mask = mask,
                            .scale = s.features == 0 ? 1 : scale_for(s.features),
                            .seed = seed += 10}));
    }
  }
}

// Covers bias tables by distance and by row, T5 at distances where it is constant, and sinks and
// window in different tiles.
TEST(Attend, IsWithinTheBoundOverManyTiles) {
  const test::AttentionShape shape{1, 9, 300, 2, 1, 4, 3};
  for (const test::EncodingSample& encoding : test::attend_encodings(shape)) {
    for (const std::int64_t queries : {1, 9}) {
      test::AttentionShape of = shape;
      of.queries = queries;
      SCOPED_TRACE(encoding.name + " " + std::to_string(queries));
      ASSERT_TRUE(is_right({.shape = of,
                            .encoding = encoding.encoding,
                            .mask = {.order = AttentionOrder::causal, .left = 80, .sinks = 4},
                            .scale = scale_for(4),
                            .seed = 500}));
    }
  }
  const auto t5 = test::attention_encodings(shape)[5];  // bidirectional
  ASSERT_TRUE(is_right({.shape = {1, 1040, 130, 2, 2, 2, 2},
                        .encoding = t5.encoding,
                        .mask = bidirectional,
                        .scale = scale_for(2),
                        .seed = 510}));
}

// Hidden keys and values are NaN or Inf. Then one head of a query is NaN: only its bits change.
TEST(Attend, NeverReadsKeysThatAQueryDoesNotSee) {
  for (const std::int64_t queries : {2, 9}) {
    test::AttentionShape shape = small;
    shape.queries = queries;
    AttendCase made_of{.shape = shape,
                       .mask = {.order = AttentionOrder::causal, .left = 4},
                       .sequences = {{0, 0, queries, 2, 19, 18 - queries, 0}},
                       .scale = scale_for(12),
                       .seed = 600};
    Attended call(made_of);
    const std::int64_t first_seen = 2 + std::max<std::int64_t>(18 - queries - 4, 0);
    test::for_each_element(call.k.extents(), [&](const test::HeadIndex& at, std::int64_t feature) {
      const bool seen = at.batch == 0 && at.token >= first_seen && at.token < 2 + 18;
      if (seen) return;
      call.k.set(at, feature, at.token % 2 == 0 ? std::nan("") : infinity);
      if (feature < 10) call.v.set(at, feature, at.token % 3 == 0 ? std::nan("") : -infinity);
    });
    test::require(call.run());
    ASSERT_TRUE(call.is_right());
    const std::vector<std::uint64_t> before = call.bits();
    call.q.set({.batch = 0, .token = 1, .head = 2}, 3, std::nan(""));
    test::require(call.run());
    test::for_each_element(call.out.extents(),
                           [&](const test::HeadIndex& at, std::int64_t feature) {
                             const bool poisoned = at.batch == 0 && at.token == 1 && at.head == 2;
                             const double value = call.out.at(at, feature);
                             EXPECT_EQ(std::isnan(value), poisoned);
                           });
    std::size_t differ = 0;
    for (std::size_t i = 0; i < before.size(); ++i) differ += call.bits()[i] != before[i] ? 1 : 0;
    EXPECT_EQ(differ, 10U + 1U);  // the features of one head, and its log-sum-exp
  }
}

// Products and sums keep a NaN's payload. 2^x must not turn the payload into a number's exponent.
TEST(Attend, KeepsNaNWithAnyPayload) {
  for (const std::int64_t queries : {2, 9}) {
    test::AttentionShape shape = small;
    shape.queries = queries;
    for (const std::uint64_t bits : {1, 0x20, 0x100, 0x1ff, 0x3fffff}) {
      Attended call({.shape = shape, .mask = bidirectional, .scale = scale_for(12), .seed = 650});
      const auto nan = std::bit_cast<double>(0x7ff8000000000000U | bits << 29U);
      call.q.set({.batch = 0, .token = 1, .head = 2}, 3, nan);
      test::require(call.run());
      test::for_each_element(call.out.extents(),
                             [&](const test::HeadIndex& at, std::int64_t feature) {
                               const bool poisoned = at.batch == 0 && at.token == 1 && at.head == 2;
                               EXPECT_EQ(std::isnan(call.out.at(at, feature)), poisoned) << bits;
                             });
    }
  }
}

TEST(Attend, StaysFiniteForHugeScoresAndBiases) {
  std::vector<double> numbers(8 * 2, 1e300);
  for (std::size_t i = 0; i < numbers.size(); i += 3) numbers[i] = -infinity;
  for (const double size : {1e30, -1e30, 1e-30, 0.0}) {
    for (const std::int64_t queries : {1, 20}) {
      const test::AttentionShape shape{1, queries, 40, 2, 1, 1, 2};
      Attended call({.shape = shape, .scale = 1, .seed = 700});
      test::for_each_element(call.q.extents(),
                             [&](const test::HeadIndex& at, std::int64_t feature) {
                               call.q.set(at, feature, at.token % 2 == 0 ? 1 : -1);
                             });
      test::for_each_element(call.k.extents(),
                             [&](const test::HeadIndex& at, std::int64_t feature) {
                               call.k.set(at, feature, at.token % 7 == 3 ? -size : size);
                             });
      test::require(call.run());
      if (std::abs(size) < 1) {
        EXPECT_TRUE(call.is_right());
      }
      const RelativeBias t5 =
          T5Bias{.buckets = {.buckets = 8, .max_distance = 20, .direction = T5Direction::causal},
                 .table = test::matrix_of(numbers, 2)};
      for (const bool biased : {false, true}) {
        if (biased) call.options().encoding.bias = &t5;
        test::require(call.run());
        test::for_each_element(
            call.out.extents(), [&](const test::HeadIndex& at, std::int64_t feature) {
              EXPECT_LE(std::abs(call.out.at(at, feature)), 4) << size << " " << biased;
            });
      }
    }
  }
}

TEST(Attend, GivesZerosIfEveryScoreIsMinusInfinity) {
  const std::vector<double> numbers(8 * 4, -infinity);
  AttendCase made_of{.shape = small, .scale = 1, .seed = 710};
  made_of.encoding.bias =
      T5Bias{.buckets = {.buckets = 8, .max_distance = 20, .direction = T5Direction::causal},
             .table = test::matrix_of(numbers, 4)};
  Attended call(made_of);
  test::require(call.run());
  test::for_each_element(call.out.extents(), [&](const test::HeadIndex& at, std::int64_t feature) {
    EXPECT_EQ(call.out.at(at, feature), 0);
  });
  for (std::size_t i = 1; i + 1 < call.log_sum_exp.size(); ++i)
    EXPECT_EQ(call.log_sum_exp[i], -infinity);
}

TEST(Attend, GivesTheBitsOfContiguousKeysForPages) {
  for (const test::EncodingSample& encoding : test::attend_encodings(small)) {
    if (encoding.name != "none" && encoding.name != "rotary half" && encoding.name != "fire" &&
        encoding.name != "shaw keys and values") {
      continue;
    }
    for (const std::int64_t queries : {1, 9}) {
      for (const std::int64_t slots : {1, 4, 23, 32}) {
        SCOPED_TRACE(encoding.name + " " + std::to_string(slots));
        test::AttentionShape shape = small;
        shape.queries = queries;
        AttendCase made_of{.shape = shape,
                           .encoding = encoding.encoding,
                           .mask = {.order = AttentionOrder::causal, .left = 9, .sinks = 2},
                           .sequences = {{0, 0, queries, 3, 17, 18 - queries, 0},
                                         {1, 0, queries, 0, 23, 23 - queries, 0}},
                           .scale = scale_for(12),
                           .k = {DType::bf16, Layout::bhtd},
                           .v = {DType::bf16},
                           .seed = 800};
        Attended call(made_of);
        test::require(call.run());
        const std::vector<std::uint64_t> contiguous = call.bits();
        ASSERT_TRUE(call.is_right());
        Attended paged(made_of);
        test::require(paged.run(call.pages(slots)));
        EXPECT_EQ(paged.bits(), contiguous);
        if (slots == 23) {  // as many slots as keys
          call.ask_for_weights();
          paged.ask_for_weights();
          test::require(call.run());
          test::require(paged.run(call.pages(slots)));
          EXPECT_EQ(paged.bits(), call.bits());
          continue;
        }
        if (!encoding.encoding.rotary) continue;
        paged.options().encoding.k_rotations = nullptr;
        test::require(paged.run(call.pages(slots)));
        EXPECT_NE(paged.bits(), contiguous);
      }
    }
  }
}

}  // namespace
}  // namespace rotary
