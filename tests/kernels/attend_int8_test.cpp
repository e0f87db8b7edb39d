// SPDX-License-Identifier: Apache-2.0
// Compares attend() over 8-bit keys and values with the reference on the dequantized numbers,
// within the published bound. Packed keys give the bits of attend() over the numbers in float32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/attention/attend_samples.hpp"
#include "support/attention/attended.hpp"
#include "support/executors.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::is_right;
using test::Lying;
using test::scale_for;
using test::small;

constexpr AttentionMask causal{.order = AttentionOrder::causal};

Lying any_lying(std::uint64_t seed) {
  return test::all_lyings[seed / 10 % test::all_lyings.size()];
}

// Kernels read keys in place for two queries and pack them for nine.
TEST(AttendInt8, IsWithinTheBoundForEveryEncodingAndMask) {
  std::uint64_t seed = 100;
  for (const std::int64_t queries : {2, 9}) {
    test::AttentionShape shape = small;
    shape.queries = queries;
    for (const test::EncodingSample& encoding : test::attend_encodings(shape)) {
      for (const test::NamedMask& mask : test::attend_masks()) {
        if (!mask.sequences.empty() && queries != small.queries) continue;
        if (!test::meet(encoding, mask)) continue;
        SCOPED_TRACE(encoding.name + ", " + mask.name);
        AttendCase each = test::case_of(shape, encoding, mask);
        each.seed = seed += 10;
        each.in_int8 = any_lying(seed);
        Attended call(each);
        ASSERT_TRUE(is_right(call));
        ASSERT_TRUE(call.int8_k->guards_intact() && call.int8_v->guards_intact());
      }
    }
  }
}

AttendCase case_of(const test::AttentionShape& shape, std::uint64_t seed,
                   Lying lying = Lying::bthd) {
  return {.shape = shape,
          .scale = shape.features == 0 ? 1 : scale_for(shape.features),
          .in_int8 = lying,
          .seed = seed};
}

// Sizes near those of vectors, panels, tiles and splits. Also 0 and 1 keys, grouped heads, and
// heads that are read in place or copied first.
TEST(AttendInt8, IsWithinTheBoundForAnySizes) {
  // Batch, queries, keys, heads, heads of k, features, features of v.
  const test::AttentionShape all[] = {
      {1, 0, 5, 2, 1, 64, 64},     {1, 3, 0, 2, 1, 64, 64},      {1, 1, 1, 1, 1, 1, 1},
      {1, 2, 255, 2, 2, 2, 3},     {1, 8, 257, 2, 2, 16, 16},    {1, 9, 256, 2, 2, 63, 65},
      {1, 1, 300, 8, 8, 64, 64},   {1, 13, 300, 8, 2, 64, 64},   {1, 49, 257, 4, 4, 65, 63},
      {1, 1, 65, 8, 1, 128, 128},  {1, 1, 2113, 8, 2, 128, 128}, {1, 2, 513, 8, 4, 32, 48},
      {1, 1, 90, 16, 1, 576, 512}, {1, 2, 5, 2, 1, 0, 3},        {1, 2, 5, 2, 1, 4, 0},
      {1, 4, 4, 4, 1, 16, 32},     {1, 300, 40, 4, 4, 8, 8}};
  std::uint64_t seed = 400;
  for (const test::AttentionShape& s : all) {
    for (const AttentionMask& mask :
         {causal, AttentionMask{.order = AttentionOrder::bidirectional, .left = 300, .sinks = 5}}) {
      SCOPED_TRACE(std::to_string(s.features) + " features, " + std::to_string(s.queries) +
                   " queries, " + std::to_string(s.keys) + " keys");
      seed += 10;
      AttendCase each = case_of(s, seed, any_lying(seed));
      each.mask = mask;
      ASSERT_TRUE(is_right(each));
    }
  }
}

TEST(AttendInt8, IsWithinTheBoundForAnyDTypes) {
  std::uint64_t seed = 500;
  for (const DType q : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t queries : {1, 20}) {
      seed += 10;
      AttendCase each = case_of({1, queries, 40, 4, 2, 32, 24}, seed, any_lying(seed));
      each.q.dtype = q;
      each.out.dtype = q == DType::bf16 ? DType::f32 : DType::bf16;
      ASSERT_TRUE(is_right(each));
    }
  }
}

TEST(AttendInt8, IsWithinTheBoundWithPairMasksAndWeights) {
  for (const std::int64_t queries : {1, 2, 9}) {
    AttendCase each = case_of({1, queries, 70, 4, 2, 16, 16}, 600, Lying::bhtd);
    each.mask = {.order = AttentionOrder::causal, .left = 50, .sinks = 3};
    each.softcap = 3;
    each.additive_mask = test::PairMask{
        .extents = {.batch = 1, .heads = 4, .queries = queries, .keys = 70}, .hidden = 5};
    each.boolean_mask =
        test::PairMask{.extents = {.batch = 1, .heads = 1, .queries = queries, .keys = 70}};
    Attended call(each);
    ASSERT_TRUE(is_right(call));
    call.ask_for_weights();
    ASSERT_TRUE(is_right(call));
  }
}

// Packed keys are exactly the dequantized float32 numbers, rotated or not.
TEST(AttendInt8, HasTheBitsOfFloat32IfKeysArePacked) {
  for (const test::EncodingSample& encoding : test::attend_encodings(small)) {
    SCOPED_TRACE(encoding.name);
    Attended call({.shape = small,
                   .encoding = encoding.encoding,
                   .scale = scale_for(12),
                   .in_int8 = Lying::padded,
                   .seed = 700});
    test::require(call.run());
    const std::vector<std::uint64_t> bits = call.bits();
    test::require(call.run_on_floats());
    EXPECT_EQ(call.bits(), bits);
  }
}

// Compares one query alone with the last row of prefill, also on float32 keys. Each result is
// within the bound, so two differ by at most twice the bound.
TEST(AttendInt8, ADecodeStepAgreesWithPrefill) {
  for (const std::int64_t features : {64, 20}) {
    const AttendCase whole = case_of({1, 300, 300, 8, 2, features, features}, 800);
    Attended prefill(whole);
    ASSERT_TRUE(is_right(prefill));
    AttendCase one = whole;
    one.shape.queries = 1;
    Attended step(one);
    const Extents heads{.tokens = 1, .heads = 8, .features = features};
    test::for_each_element(heads, [&](const test::HeadIndex& at, std::int64_t f) {
      step.q.set(at, f, prefill.q.at({0, 299, at.head}, f));
    });
    test::require(step.run());
    const double bound = 2 * test::bound_of(prefill, 0);
    EXPECT_LE(test::difference(step.out, 0, prefill.out, 299), bound);
    test::require(step.run_on_floats());
    EXPECT_LE(test::difference(step.out, 0, prefill.out, 299), bound);
  }
}

TEST(AttendInt8, GivesTheBitsOfContiguousKeysForPages) {
  for (const std::int64_t queries : {1, 9}) {
    for (const std::int64_t features : {12, 16}) {
      for (const std::int64_t slots : {1, 3, 4, 23, 32}) {
        SCOPED_TRACE(std::to_string(features) + ", " + std::to_string(slots));
        test::AttentionShape shape = small;
        shape.queries = queries;
        shape.features = features;
        const AttendCase each{.shape = shape,
                              .mask = {.order = AttentionOrder::causal, .left = 9, .sinks = 2},
                              .sequences = {{0, 0, queries, 3, 17, 18 - queries, 0},
                                            {1, 0, queries, 0, 23, 23 - queries, 0}},
                              .scale = scale_for(12),
                              .in_int8 = Lying::bthd,
                              .seed = 900};
        Attended call(each);
        ASSERT_TRUE(is_right(call));
        const Lying lying = any_lying(static_cast<std::uint64_t>(10 * slots));
        Attended paged(each);
        test::require(paged.run(call.pages(slots, lying)));
        EXPECT_EQ(paged.bits(), call.bits());
      }
    }
  }
}

// Hidden keys change no bit, whether a position or a mask hides them, even if they are NaN or Inf.
TEST(AttendInt8, NeverReadsKeysThatAQueryDoesNotSee) {
  for (const std::int64_t queries : {1, 9}) {
    for (const std::int64_t features : {12, 16}) {
      AttendCase each = case_of({1, queries, 100, 4, 2, features, 10}, 1000, Lying::bhtd);
      each.mask = {.order = AttentionOrder::causal, .left = 40};
      each.sequences = {{0, 0, queries, 2, 90, 90 - queries, 0}};
      each.boolean_mask = test::PairMask{
          .extents = {.batch = 1, .heads = 1, .queries = 1, .keys = 100}, .hidden = 3};
      Attended call(each);
      ASSERT_TRUE(is_right(call));
      const std::vector<std::uint64_t> before = call.bits();
      const std::int64_t first_seen = 2 + 90 - queries - 40;
      for (std::int64_t token = 0; token < 100; ++token) {
        const bool seen =
            token >= first_seen && token < 92 && check::leaves(call.options(), {}, token);
        for (std::int64_t head = 0; head < 2 && !seen; ++head) {
          call.int8_k->scale({0, token, head}) =
              token % 2 == 0 ? std::nanf("") : std::numeric_limits<float>::infinity();
          call.int8_v->scale({0, token, head}) = std::nanf("");
          call.int8_k->element({0, token, head}, 0) = 0;
          call.int8_v->element({0, token, head}, 0) = -128;
        }
      }
      test::require(call.run());
      EXPECT_EQ(call.bits(), before);
    }
  }
}

TEST(AttendInt8, SpreadsANaNScaleOnlyToItsHead) {
  for (const std::int64_t queries : {1, 20}) {
    for (const bool of_key : {true, false}) {
      Attended call(case_of({1, queries, 40, 2, 2, 16, 16}, 1100));
      (of_key ? call.int8_k : call.int8_v)->scale({0, 3, 1}) = std::nanf("");
      test::require(call.run());
      const std::int64_t last = queries - 1;
      EXPECT_TRUE(std::isnan(call.out.at({0, last, 1}, 5)));
      EXPECT_FALSE(std::isnan(call.out.at({0, last, 0}, 5)));
    }
  }
}

// Keys are split. The second call has an executor, and memory of exactly the required size.
TEST(AttendInt8, GivesTheSameBitsForAnyExecutorAndMemory) {
  for (const std::int64_t queries : {1, 40}) {
    Attended call(case_of({1, queries, 4200, 4, 2, 16, 16}, 1200, Lying::scales_behind_heads));
    ASSERT_TRUE(is_right(call));
    const std::vector<std::uint64_t> alone = call.bits();
    test::CountingExecutor executor(test::run_backwards, 3);
    call.options().executor = executor.executor();
    const std::size_t bytes = test::value_of(check::bytes_for(call.call()));
    std::vector<std::byte> room(bytes + 64, std::byte{0xA5});
    const auto address = reinterpret_cast<std::uintptr_t>(room.data());
    call.options().memory = std::span(room).subspan((64 - address % 64) % 64, bytes);
    test::require(call.run());
    EXPECT_EQ(call.bits(), alone);
  }
}

}  // namespace
}  // namespace rotary
