// SPDX-License-Identifier: Apache-2.0
// Breaks each requirement of append and attend for int8 caches once. The error must state
// requirement and value, and no byte may change.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "rotary/attention.hpp"
#include "rotary/kv_cache.hpp"
#include "support/cases.hpp"
#include "support/int8_heads.hpp"
#include "support/refusals.hpp"
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

// A valid call with two batch rows of three tokens.
struct AppendCall {
  Int8Heads k_cache = filled(k_blocks, 1);
  Int8Heads v_cache = filled(v_blocks, 2);
  Tensor k = test::random_tensor({.extents = {2, 3, 2, 16}}, 3);
  Tensor v = test::random_tensor({.extents = {2, 3, 2, 6}}, 4);
  QuantizedKvCache cache{.k = k_cache.view(), .v = v_cache.view()};
  KvHeads heads{.k = k.view(), .v = v.view()};
  std::vector<std::int64_t> numbers = {0, 19, 7, 8, -1, 3};
  Slots slots = slots_of(numbers, 2);
  Rotations rotations = test::rotations_of(
      test::frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
      ConsecutivePositions{.first = 9, .tokens = 3});

  [[nodiscard]] auto written() const { return std::pair(k_cache.bytes(), v_cache.bytes()); }
  [[nodiscard]] Status run() const {
    return append(cache, heads, slots, {.rotations = &rotations});
  }
};

struct AttendCall {
  Int8Heads k_cache = filled(k_blocks, 1);
  Int8Heads v_cache = filled(v_blocks, 2);
  Tensor q = test::random_tensor({.extents = {5, 3, 4, 16}}, 5);
  Tensor out = test::random_tensor({.extents = {5, 3, 4, 6}}, 6);
  QuantizedKeys keys{.k = k_cache.view(), .v = v_cache.view()};
  AttendOptions options{.scale = 0.25, .mask = {.order = AttentionOrder::causal}};
  HeadsView to = out.view();

  [[nodiscard]] auto written() const {
    return std::tuple(out.bytes(), k_cache.bytes(), v_cache.bytes());
  }
  [[nodiscard]] Status run() const { return attend(to, q.view(), keys, options); }
};

using QuantizedCacheErrors = test::Refusals<AppendCall>;
using QuantizedKeysErrors = test::Refusals<AttendCall>;

TEST_F(QuantizedCacheErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(append(c.cache, c.heads, c.slots));
  accept(c);
}

TEST_F(QuantizedKeysErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(attend_bytes(c.q.view(), c.keys, c.options));
  accept(c);
}

TEST_F(QuantizedCacheErrors, WrongShapesAndSlotsAreRefused) {
  refuse(c.cache.k.extents.heads = 3,
         {"cache.k: heads and features must be those of k, 2 and 16", "got 3 and 16"});
  refuse(c.cache.v->extents.batch = 4, {"cache.v: blocks", "5 and 4", "got 4 and 4"});
  refuse(c.cache.v = {}, {"v in the heads alone"});
  refuse(c.numbers[5] = 19, {"slots", "distinct", "got 19 twice"});
  refuse(c.numbers[5] = 20, {"slots", "below", "20", "token 2 of batch row 1"});
}

TEST_F(QuantizedCacheErrors, InvalidViewsAreRefused) {
  refuse(c.cache.k.data = nullptr, {"cache.k: data must not be null"});
  refuse(c.cache.k.scales = nullptr, {"cache.k.scales: data must not be null"});
  refuse(c.cache.v->scales =
             reinterpret_cast<float*>(reinterpret_cast<std::byte*>(c.cache.v->scales) + 2),
         {"cache.v.scales: data must be aligned to its element size, 4", "2 bytes"});
  refuse(c.cache.k.strides.token = highest, {"cache.k: the view must span less than 2^61 bytes"});
  refuse(c.cache.v->scale_strides.token = highest,
         {"cache.v.scales: the view must span less than 2^62 bytes"});
  refuse(c.cache.k.extents.tokens = -1, {"cache.k: extents must be >= 0", "-1"});
  refuse(c.cache.k.strides.feature = 2, {"cache.k: features must be adjacent", "feature 2"});
}

TEST_F(QuantizedCacheErrors, RefusesSharedElements) {
  refuse(c.cache.k.strides.token = 0, {"cache.k: elements of a destination must be distinct"});
  refuse(c.cache.v->scale_strides.head = 0,
         {"cache.v.scales: elements of a destination must be distinct"});
  refuse(c.cache.v->scales = c.cache.k.scales,
         {"cache.k.scales and cache.v.scales must share no element"});
  refuse(c.cache.v->data = c.cache.k.data, {"cache.k and cache.v must share no element"});
  refuse(c.cache.k.data = reinterpret_cast<std::int8_t*>(c.cache.k.scales),
         {"cache.k and cache.k.scales must share no byte"});
  refuse(c.cache.v->scales = static_cast<float*>(c.v.view().data),
         {"cache.v.scales and v must share no element"});
  refuse(
      c.slots =
          TokenArray<std::int32_t>{.data = reinterpret_cast<const std::int32_t*>(c.cache.v->scales),
                                   .batch = 2,
                                   .tokens = 3,
                                   .batch_stride = 3},
      {"cache.v.scales and slots must share no element"});
}

TEST_F(QuantizedCacheErrors, UnsupportedTypesAreRefused) {
  const Rotations wide_rows = test::rotations_of(
      test::frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
      ConsecutivePositions{.first = 9, .tokens = 3}, RowDType::f64);
  c.rotations = wide_rows;
  refuse(c.heads.k.dtype = DType::bf16, {"k:", "f64 rows"});
  std::vector<double> wide(2 * 3 * 2 * 16);
  c.rotations = wide_rows;
  c.heads.k.data = wide.data();
  refuse(c.heads.k.dtype = DType::f64,
         {"k: dtype must be f32, bf16 or f16 for a cache in 8 bits", "got f64"},
         ErrorCode::unsupported);
}

TEST_F(QuantizedCacheErrors, RefusesRotationsThatRoundProducts) {
  RotarySpec spec{.head_dim = 16, .base = 10000.0, .pairing = Pairing::half};
  spec.numerics = Numerics::transformers;
  c.rotations =
      test::value_of(make_rotations(test::value_of(make_frequencies(spec)),
                                    ConsecutivePositions{.tokens = 3}, {.tensors = DType::bf16}));
  refuse(c.heads.k.dtype = DType::bf16,
         {"k: rotations must not round products of bf16 for a cache in 8 bits", "every_step",
          "rotate()"});
}

TEST_F(QuantizedCacheErrors, RefusesHeadsBeyond2048Features) {
  const Extents n{.tokens = 1, .heads = 1, .features = 2049};
  const Int8Heads to(n, Lying::bthd);
  const Tensor from({.extents = n});
  const auto before = to.bytes();
  test::refused(append(QuantizedKvCache{to.view()}, {from.view()}, ConsecutiveSlots{}),
                {"k: a head in 8 bits must have at most 2048 features", "got 2049"});
  EXPECT_EQ(to.bytes(), before);
}

TEST_F(QuantizedKeysErrors, InvalidKeysAreRefused) {
  refuse(c.keys.k.extents.features = 15, {"k: features must be those of q, 16", "got 15"});
  refuse(c.keys.v.extents.tokens = 3, {"v: batch, tokens and heads must be those of k, 5, 4, 2"});
  refuse(c.keys.v.data = nullptr, {"v: data must not be null"});
  refuse(c.keys.k.scales = nullptr, {"k.scales: data must not be null"});
  refuse(c.keys.v.scale_strides.batch = highest,
         {"v.scales: the view must span less than 2^62 bytes"});
  refuse(c.keys.k.strides.feature = -1, {"k: features must be adjacent", "feature -1"});
  const std::int32_t block = 5;
  const BlockTable table{.blocks = &block, .sequences = 1, .blocks_of_sequence = 1, .stride = 1};
  refuse(c.keys.table = table,
         {"sequences: there must be one for each of the block table's, 1", "got 0"});
  const AttentionSequence sequence{.queries = 1, .keys = 3, .query_position = 2};
  c.keys.table = table;
  refuse(c.options.sequences = {&sequence, 1}, {"blocks: each must be from 0 to 4", "got 5"});
}

TEST_F(QuantizedKeysErrors, RefusesSharedElements) {
  refuse(c.keys.v.scales = static_cast<const float*>(c.to.data),
         {"out and v.scales must share no element"});
  refuse(c.keys.k.data = static_cast<const std::int8_t*>(c.to.data) + 3,
         {"out and k must share no element"});
  alignas(64) static std::byte room[1 << 20];
  c.options.memory = room;
  refuse(c.keys.k.scales = reinterpret_cast<const float*>(room),
         {"memory: must lie apart from k.scales"});
}

}  // namespace
}  // namespace rotary
