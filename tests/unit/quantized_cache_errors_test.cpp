// SPDX-License-Identifier: Apache-2.0
// Every requirement of append and attend on caches in 8 bits, broken once: the error says it and
// what was got, and no byte has changed.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "rotary/attention.hpp"
#include "rotary/kv_cache.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"
#include "support/int8_heads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Int8Heads;
using test::Lying;
using test::Tensor;

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr Extents k_blocks{.batch = 5, .tokens = 4, .heads = 2, .features = 16};
constexpr Extents v_blocks{.batch = 5, .tokens = 4, .heads = 2, .features = 6};

Int8Heads filled(const Extents& extents, std::uint64_t seed) {
  Int8Heads heads(extents, Lying::bthd);
  heads.fill(seed, -7, -5);
  return heads;
}

// A cache, heads of two batch rows of three tokens for it, and a call of each kind that is accepted
// until one thing about it is changed.
class QuantizedCacheErrors : public testing::Test {
 protected:
  void expect_append_refused(std::initializer_list<std::string_view> parts,
                             ErrorCode code = ErrorCode::invalid_argument) {
    EXPECT_TRUE(test::fails(append(cache, heads, slots, options), code, parts));
    expect_nothing_written();
  }
  void expect_attend_refused(std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(test::fails(attend(out.view(), q.view(), keys, attend_options),
                            ErrorCode::invalid_argument, parts));
    expect_nothing_written();
  }
  void expect_nothing_written() const {
    EXPECT_EQ(k_cache_.bytes(), k_before_) << "k has been written";
    EXPECT_EQ(v_cache_.bytes(), v_before_) << "v has been written";
    EXPECT_EQ(out.bytes(), out_before_) << "out has been written";
  }

 private:
  Int8Heads k_cache_ = filled(k_blocks, 1);
  Int8Heads v_cache_ = filled(v_blocks, 2);
  std::vector<std::int8_t> k_before_ = k_cache_.bytes();
  std::vector<std::int8_t> v_before_ = v_cache_.bytes();

 protected:
  Tensor k = test::random_tensor({.extents = {2, 3, 2, 16}}, 3);
  Tensor v = test::random_tensor({.extents = {2, 3, 2, 6}}, 4);
  QuantizedKvCache cache{.k = k_cache_.view(), .v = v_cache_.view()};
  KvHeads heads{.k = k.view(), .v = v.view()};
  std::vector<std::int64_t> numbers = {0, 19, 7, 8, -1, 3};
  Slots slots = slots_of(numbers, 2);
  Rotations rotations = test::rotations_of(
      test::frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
      ConsecutivePositions{.first = 9, .tokens = 3});
  AppendOptions options{.rotations = &rotations};

  Tensor q = test::random_tensor({.extents = {5, 3, 4, 16}}, 5);
  Tensor out = test::random_tensor({.extents = {5, 3, 4, 6}}, 6);
  QuantizedKeys keys{.k = k_cache_.view(), .v = v_cache_.view()};
  AttendOptions attend_options{.scale = 0.25, .mask = {.order = AttentionOrder::causal}};

 private:
  std::vector<std::byte> out_before_ = out.bytes();
};

TEST_F(QuantizedCacheErrors, NoneToBeginWith) {
  EXPECT_TRUE(attend_bytes(q.view(), keys, attend_options));
  EXPECT_TRUE(attend(out.view(), q.view(), keys, attend_options));
  EXPECT_TRUE(append(cache, heads, slots, options));
  EXPECT_TRUE(append(cache, heads, slots));
}

TEST_F(QuantizedCacheErrors, OfShapesToAppend) {
  const QuantizedKvCache good = cache;
  cache.k.extents.heads = 3;
  expect_append_refused(
      {"cache.k: heads and features must be those of k, 2 and 16", "got 3 and 16"});
  cache = good;
  cache.v->extents.batch = 4;
  expect_append_refused({"cache.v: blocks", "5 and 4", "got 4 and 4"});
  cache = good;
  cache.v.reset();
  expect_append_refused({"v in the heads alone"});
  cache = good;
  numbers[5] = 19;
  expect_append_refused({"slots", "distinct", "got 19 twice"});
  numbers[5] = 20;
  expect_append_refused({"slots", "below", "20", "token 2 of batch row 1"});
}

TEST_F(QuantizedCacheErrors, OfMemoryToAppend) {
  const QuantizedKvCache good = cache;
  cache.k.data = nullptr;
  expect_append_refused({"cache.k: data must not be null"});
  cache = good;
  cache.k.scales = nullptr;
  expect_append_refused({"cache.k.scales: data must not be null"});
  cache = good;
  cache.v->scales = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(good.v->scales) + 2);
  expect_append_refused({"cache.v.scales: data must be aligned to its element size, 4", "2 bytes"});
  cache = good;
  cache.k.strides.token = highest;
  expect_append_refused({"cache.k: the view must span less than 2^61 bytes"});
  cache = good;
  cache.v->scale_strides.token = highest;
  expect_append_refused({"cache.v.scales: the view must span less than 2^62 bytes"});
  cache = good;
  cache.k.extents.tokens = -1;
  expect_append_refused({"cache.k: extents must be >= 0", "-1"});
  cache = good;
  cache.k.strides.feature = 2;
  expect_append_refused({"cache.k: features must be adjacent", "feature 2"});
}

TEST_F(QuantizedCacheErrors, OfSharedElementsToAppend) {
  const QuantizedKvCache good = cache;
  cache.k.strides.token = 0;
  expect_append_refused({"cache.k: elements of a destination must be distinct"});
  cache = good;
  cache.v->scale_strides.head = 0;
  expect_append_refused({"cache.v.scales: elements of a destination must be distinct"});
  cache = good;
  cache.v->scales = good.k.scales;
  expect_append_refused({"cache.k.scales and cache.v.scales must share no element"});
  cache = good;
  cache.v->data = good.k.data;
  expect_append_refused({"cache.k and cache.v must share no element"});
  cache = good;
  cache.k.data = reinterpret_cast<std::int8_t*>(good.k.scales);
  expect_append_refused({"cache.k and cache.k.scales must share no byte"});
  cache = good;
  cache.v->scales = static_cast<float*>(v.view().data);
  expect_append_refused({"cache.v.scales and v must share no element"});
  cache = good;
  slots = TokenArray<std::int32_t>{.data = reinterpret_cast<const std::int32_t*>(good.v->scales),
                                   .batch = 2,
                                   .tokens = 3,
                                   .batch_stride = 3};
  expect_append_refused({"cache.v.scales and slots must share no element"});
}

TEST_F(QuantizedCacheErrors, OfTypesToAppend) {
  heads.k.dtype = DType::bf16;
  rotations = test::rotations_of(
      test::frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
      ConsecutivePositions{.first = 9, .tokens = 3}, RowDType::f64);
  expect_append_refused({"k:", "f64 rows"});
  std::vector<double> wide(2 * 3 * 2 * 16);
  heads.k.data = wide.data();
  heads.k.dtype = DType::f64;
  expect_append_refused({"k: dtype must be f32, bf16 or f16 for a cache in 8 bits", "got f64"},
                        ErrorCode::unsupported);
}

TEST_F(QuantizedCacheErrors, OfRotationsThatRoundProducts) {
  RotarySpec spec{.head_dim = 16, .base = 10000.0, .pairing = Pairing::half};
  spec.numerics = Numerics::transformers;
  const auto frequencies = make_frequencies(spec);
  ASSERT_TRUE(frequencies);
  rotations = test::value_of(
      make_rotations(*frequencies, ConsecutivePositions{.tokens = 3}, {.tensors = DType::bf16}));
  heads.k.dtype = DType::bf16;
  expect_append_refused({"k: rotations must not round products of bf16 for a cache in 8 bits",
                         "every_step", "rotate()"});
}

TEST_F(QuantizedCacheErrors, OfHeadsTooLongToAppend) {
  const Extents n{.tokens = 1, .heads = 1, .features = 2049};
  const Int8Heads to(n, Lying::bthd);
  const Tensor from({.extents = n});
  const auto before = to.bytes();
  EXPECT_TRUE(test::fails(append(QuantizedKvCache{to.view()}, {from.view()}, ConsecutiveSlots{}),
                          ErrorCode::invalid_argument,
                          {"k: a head in 8 bits must have at most 2048 features", "got 2049"}));
  EXPECT_EQ(to.bytes(), before);
}

TEST_F(QuantizedCacheErrors, OfKeysToAttendTo) {
  const QuantizedKeys good = keys;
  keys.k.extents.features = 15;
  expect_attend_refused({"k: features must be those of q, 16", "got 15"});
  keys = good;
  keys.v.extents.tokens = 3;
  expect_attend_refused({"v: batch, tokens and heads must be those of k, 5, 4, 2"});
  keys = good;
  keys.v.data = nullptr;
  expect_attend_refused({"v: data must not be null"});
  keys = good;
  keys.k.scales = nullptr;
  expect_attend_refused({"k.scales: data must not be null"});
  keys = good;
  keys.v.scale_strides.batch = highest;
  expect_attend_refused({"v.scales: the view must span less than 2^62 bytes"});
  keys = good;
  keys.k.strides.feature = -1;
  expect_attend_refused({"k: features must be adjacent", "feature -1"});
  keys = good;
  const std::int32_t block = 5;
  keys.table = BlockTable{.blocks = &block, .sequences = 1, .blocks_of_sequence = 1, .stride = 1};
  expect_attend_refused({"sequences: there must be one for each of the block table's, 1", "got 0"});
  const AttentionSequence sequence{.queries = 1, .keys = 3, .query_position = 2};
  attend_options.sequences = {&sequence, 1};
  expect_attend_refused({"blocks: each must be from 0 to 4", "got 5"});
}

TEST_F(QuantizedCacheErrors, OfSharedElementsToAttendTo) {
  const QuantizedKeys good = keys;
  keys.v.scales = static_cast<const float*>(out.view().data);
  expect_attend_refused({"out and v.scales must share no element"});
  keys = good;
  keys.k.data = static_cast<const std::int8_t*>(out.view().data) + 3;
  expect_attend_refused({"out and k must share no element"});
  keys = good;
  alignas(64) static std::byte room[1 << 20];
  attend_options.memory = room;
  keys.k.scales = reinterpret_cast<const float*>(room);
  expect_attend_refused({"memory: must lie apart from k.scales"});
}

}  // namespace
}  // namespace rotary
