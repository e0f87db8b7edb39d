// SPDX-License-Identifier: Apache-2.0
// Attention of few queries to many keys: splits of the keys, and decode steps on a KV cache.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "support/attention/attended.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::bound_of;
using test::difference;
using test::is_right;
using test::value_of;

constexpr AttentionMask causal{.order = AttentionOrder::causal};

reference::Rotary rotary_of(std::int64_t head_dim) {
  reference::Rotary rotary{
      .window = {.head_dim = head_dim, .rotary_dim = head_dim, .pairing = Pairing::half},
      .inv_freq = {}};
  for (std::int64_t pair = 0; 2 * pair < head_dim; ++pair)
    rotary.inv_freq.push_back(std::pow(0.3, static_cast<double>(pair)));
  return rotary;
}

AttendCase long_case(std::int64_t queries, std::int64_t keys) {
  return {.shape = {1, queries, keys, 2, 1, 12, 9},
          .scale = 0.1,
          .seed = static_cast<std::uint64_t>(keys + queries)};
}

// Numbers of keys near the split points. Some masks hide keys in the middle, or the last keys.
TEST(Decode, IsWithinTheBoundAcrossSplits) {
  const AttentionMask ends_before{.order = AttentionOrder::bidirectional, .right = -2040};
  const AttentionMask few{.order = AttentionOrder::causal, .left = 100, .sinks = 5};
  const std::vector<std::pair<std::int64_t, AttentionMask>> cases = {
      {2048, causal},
      {2049, causal},
      {2049, ends_before},
      {4500, few},
      {4500, {.order = AttentionOrder::causal, .left = 2100, .sinks = 2050}},
      {4500, {.order = AttentionOrder::causal, .left = 3000}},
      {4500, ends_before}};
  const std::vector<reference::AttentionEncoding> encodings = {
      {}, {.rotary = rotary_of(12)}, {.bias = Alibi{.heads = 2}}};
  std::size_t number = 0;
  for (const auto& [keys, mask] : cases) {
    AttendCase each = long_case(keys == 4500 ? 2 : 1, keys);
    each.mask = mask;
    each.encoding = encodings[number++ % encodings.size()];
    SCOPED_TRACE(number);
    Attended call(each);
    ASSERT_TRUE(is_right(call));
  }
}

reference::ShawVectors vectors_of(const ShawWindow& window, std::int64_t features) {
  reference::ShawVectors of{window, {}};
  for (std::int64_t i = 0; i < window.rows() * features; ++i)
    of.table.push_back(static_cast<double>(i % 23 - 11) / 8);
  return of;
}

// Each batch row keeps and counts its own splits.
TEST(Decode, IsWithinTheBoundAcrossSplitsOfEachBatchRow) {
  AttendCase each = long_case(1, 4500);
  each.shape.batch = 3;
  each.mask = causal;
  Attended call(each);
  EXPECT_TRUE(is_right(call));
}

// Shaw's windows end within or beyond a split. Kernels stream the rows of one kv head or two. They
// pack rows if keys and values differ in dtype. Asking for weights prevents splits.
TEST(Decode, ReadsShawVectorsAcrossSplits) {
  const AttentionMask few{.order = AttentionOrder::causal, .left = 2060, .sinks = 5};
  const AttentionMask ends_before{.order = AttentionOrder::bidirectional, .right = -2040};
  const std::vector<std::pair<std::int64_t, AttentionMask>> cases = {
      {1, causal}, {3, few}, {4, few}, {2, ends_before}};
  for (const ShawWindow& window : {ShawWindow{40, 15}, ShawWindow{3000, 0}}) {
    for (const auto& [queries, mask] : cases) {
      SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(window.left));
      AttendCase each = long_case(queries, 4100);
      each.mask = mask;
      each.shape.heads = queries == 1 ? 4 : 2;
      each.shape.key_heads = queries == 1 ? 2 : 1;
      if (queries == 4) each.k.dtype = DType::f16;
      each.encoding = {.shaw_keys = vectors_of(window, 12), .shaw_values = vectors_of(window, 9)};
      if (queries == 3) each.encoding.rotary = rotary_of(12);
      Attended call(each);
      ASSERT_TRUE(is_right(call));
      if (queries != 2) continue;
      call.ask_for_weights();
      ASSERT_TRUE(is_right(call));
    }
  }
}

// Keys are split for up to 16 queries. 16 rows of a kv head are streamed, 24 are packed.
TEST(Decode, IsWithinTheBoundForFewQueries) {
  for (const std::int64_t queries : {2, 8, 12, 17}) {
    SCOPED_TRACE(queries);
    AttendCase each = long_case(queries, 2100);
    each.k.dtype = each.v.dtype = queries % 3 == 0 ? DType::bf16 : DType::f16;
    each.encoding.rotary = rotary_of(12);
    Attended call(each);
    ASSERT_TRUE(is_right(call));
  }
}

// The rows of a kv head are computed four, two and one at a time, and features in blocks. 300 keys
// end within a tile.
TEST(Decode, IsWithinTheBoundForAnyGroupOfHeads) {
  constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16};
  for (std::int64_t group = 1; group <= 9; ++group) {
    for (const std::int64_t features : {16, 80, 128, 272}) {
      SCOPED_TRACE(std::to_string(group) + " heads of " + std::to_string(features));
      AttendCase each = long_case(1, 300);
      each.shape.heads = 2 * group;
      each.shape.key_heads = 2;
      each.shape.features = features;
      each.shape.value_features = features == 80 ? 112 : features;
      each.k.dtype = each.v.dtype = dtypes[group % 3];
      Attended call(each);
      ASSERT_TRUE(is_right(call));
    }
  }
}

// Each task waits until all have started, so any split may finish last.
Executor threads(std::int64_t concurrency) {
  return {.run =
              [](void*, std::int64_t count, ExecutorTask task, void* state) {
                std::atomic<std::int64_t> started = 0;
                const auto work = [&](std::int64_t index) {
                  ++started;
                  while (started < count) std::this_thread::yield();
                  task(state, index);
                };
                std::vector<std::thread> all;
                for (std::int64_t i = 0; i < count; ++i) all.emplace_back(work, i);
                for (std::thread& thread : all) thread.join();
              },
          .concurrency = concurrency};
}

TEST(Decode, HasTheSameBitsForAnyNumberOfThreads) {
  for (const std::int64_t queries : {1, 3, 16}) {
    AttendCase each = long_case(queries, 9000);
    each.encoding.rotary = rotary_of(12);
    each.encoding.bias = Alibi{.heads = 2};
    each.encoding.shaw_values = vectors_of({2500, 0}, 9);
    Attended call(each);
    ASSERT_TRUE(call.run());
    const auto bits = call.bits();
    for (const std::int64_t concurrency : {1, 2, 3, 7, 40}) {
      SCOPED_TRACE(concurrency);
      call.options().executor = threads(concurrency);
      const auto bytes = attend_bytes(call.q.view(), call.k.view(), call.v.view(), call.options());
      constexpr std::byte guard{0x5A};
      std::vector<std::byte> memory(value_of(bytes) + 128, guard);
      const auto off = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
      const std::span<std::byte> given = std::span(memory).subspan(64 - off, value_of(bytes));
      call.options().memory = given;
      ASSERT_TRUE(call.run());
      EXPECT_EQ(call.bits(), bits);
      for (const std::byte* at = given.data() + given.size(); at < &memory.back(); ++at)
        ASSERT_EQ(*at, guard) << "beyond attend_bytes";
      call.options().memory = {};
    }
  }
}

// The second split holds one key and finishes first.
TEST(Decode, WaitsForTheSlowestSplit) {
  AttendCase each = long_case(1, 2049);
  each.shape.heads = 4;
  Attended call(each);
  ASSERT_TRUE(call.run());
  const auto bits = call.bits();
  call.options().executor = threads(2);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(call.run());
    ASSERT_EQ(call.bits(), bits);
  }
}

TEST(Decode, HasTheSameBitsInPages) {
  AttendCase each = long_case(1, 4200);
  each.sequences = {{.queries = 1, .keys = 4200, .query_position = 4199}};
  each.encoding = {.shaw_keys = vectors_of({40, 0}, 12), .shaw_values = vectors_of({40, 0}, 9)};
  Attended call(each);
  ASSERT_TRUE(call.run());
  const auto bits = call.bits();
  for (const std::int64_t slots : {1, 16, 24, 128}) {
    SCOPED_TRACE(slots);
    ASSERT_TRUE(call.run(call.pages(slots)));
    EXPECT_EQ(call.bits(), bits);
  }
}

ConstHeadsView tokens_of(ConstHeadsView view, std::int64_t first, std::int64_t count) {
  view.data = static_cast<const std::byte*>(view.data) +
              first * view.strides.token * size_in_bytes(view.dtype);
  view.extents.tokens = count;
  return view;
}

constexpr test::AttentionShape stream_shape{1, 40, 40, 4, 2, 16, 16};

AttendCase stream_case() {
  return {.shape = stream_shape, .encoding = {.rotary = rotary_of(16)}, .scale = 0.1, .seed = 5};
}

Frequencies frequencies_of(const reference::Rotary& rotary) {
  return value_of(make_frequencies(rotary.window, rotary.inv_freq, rotary.attention_factor));
}

TEST(Decode, StepByStepEqualsPrefill) {
  Attended prefill(stream_case());
  ASSERT_TRUE(is_right(prefill));
  const Frequencies frequencies = frequencies_of(*prefill.made_of().encoding.rotary);
  const double bound = 2 * bound_of(prefill, 2);
  const test::Shape row{DType::f32, {.batch = 1, .tokens = 1, .heads = 4, .features = 16}};
  constexpr std::int64_t slots = 8;
  const test::Shape pages{DType::f32, {.batch = 5, .tokens = slots, .heads = 2, .features = 16}};
  const std::vector<std::int32_t> blocks = {3, 0, 4, 1, 2};
  test::Tensor k(pages);
  test::Tensor v(pages);
  test::Tensor paged_k = k;
  test::Tensor paged_v = v;
  for (std::int64_t t = 0; t < 40; ++t) {
    const Rotations rotations =
        value_of(make_rotations(frequencies, ConsecutivePositions{.first = t, .tokens = 1}));
    const KvHeads heads{.k = tokens_of(std::as_const(prefill.k).view(), t, 1),
                        .v = tokens_of(std::as_const(prefill.v).view(), t, 1)};
    HeadsView all_k = k.view();  // a single block of 40 slots
    HeadsView all_v = v.view();
    all_k.extents.batch = all_v.extents.batch = 1;
    all_k.extents.tokens = all_v.extents.tokens = 40;
    const std::vector<std::int64_t> slot = {t};
    const std::vector<std::int64_t> paged_slot = {
        blocks[static_cast<std::size_t>(t / slots)] * slots + t % slots};
    ASSERT_TRUE(append({.k = all_k, .v = all_v}, heads, slots_of(slot), {.rotations = &rotations}));
    ASSERT_TRUE(append({.k = paged_k.view(), .v = paged_v.view()}, heads, slots_of(paged_slot),
                       {.rotations = &rotations}));
    test::Tensor out(row);
    test::Tensor paged_out(row);
    AttendOptions options{.scale = 0.1, .mask = causal};
    options.encoding = {.q_rotations = &rotations, .cached_keys = &frequencies};
    const ConstHeadsView q = tokens_of(std::as_const(prefill.q).view(), t, 1);
    ASSERT_TRUE(
        attend(out.view(), q, tokens_of(all_k, 0, t + 1), tokens_of(all_v, 0, t + 1), options));
    EXPECT_LE(difference(out, 0, prefill.out, t), bound) << t;
    const std::vector<AttentionSequence> sequence = {
        {.queries = 1, .keys = t + 1, .query_position = t}};
    options.sequences = sequence;
    const PagedKeys keys{
        .k = paged_k.view(), .v = paged_v.view(), .table = {blocks.data(), 1, 5, 5}};
    ASSERT_TRUE(attend(paged_out.view(), q, keys, options));
    EXPECT_EQ(paged_out.all_bits(), out.all_bits()) << t;
  }
}

// The query sees four sinks and the last twelve tokens, at cache positions 0 to 15 instead of their
// text positions. The cache holds unrotated keys; a block table of one-slot pages selects them.
TEST(Decode, AttendsToSinksAndAWindowAtCachePositions) {
  Attended text(stream_case());
  constexpr std::int64_t kept = 16;
  std::vector<std::int32_t> blocks = {0, 1, 2, 3};
  for (std::int32_t t = 28; t < 40; ++t) blocks.push_back(t);
  const auto pages_of = [](const test::Tensor& tensor) {
    ConstHeadsView view = tensor.view();
    view.extents.batch = view.extents.tokens;
    view.strides.batch = view.strides.token;
    view.extents.tokens = 1;
    return view;
  };
  AttendCase cached = stream_case();
  cached.shape.queries = 1;
  cached.shape.keys = kept;
  Attended wanted(cached);
  for (std::int64_t i = 0; i < kept; ++i) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const auto from = static_cast<std::int64_t>(blocks[static_cast<std::size_t>(i)]);
      for (std::int64_t f = 0; f < 16; ++f) {
        wanted.k.set(test::HeadIndex{0, i, head}, f, text.k.at({0, from, head}, f));
        wanted.v.set(test::HeadIndex{0, i, head}, f, text.v.at({0, from, head}, f));
      }
    }
  }
  const std::vector<AttentionSequence> sequence = {
      {.queries = 1, .keys = kept, .query_position = kept - 1}};
  wanted.options().sequences = sequence;
  const PagedKeys keys{
      .k = pages_of(text.k), .v = pages_of(text.v), .table = {blocks.data(), 1, kept, kept}};
  ASSERT_TRUE(attend(wanted.out.view(), std::as_const(wanted.q).view(), keys, wanted.options()));
  EXPECT_TRUE(wanted.is_right());
}

}  // namespace
}  // namespace rotary
