// SPDX-License-Identifier: Apache-2.0
// append: each token's slot holds the bits of rotate(), or of its float32 result rounded once;
// every other slot, and every byte around the cache, is as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::for_each_element;
using test::HeadIndex;
using test::Layout;
using test::Tensor;

constexpr std::int64_t not_stored = -1;
constexpr std::array cache_layouts = {Layout::bthd, Layout::bhtd, Layout::fused_qkv, Layout::padded,
                                      Layout::reversed_tokens};

Rotations rotations_for(const HeadWindow& window, std::int64_t tokens, DType dtype) {
  return test::rotations_of(test::frequencies_of(window, 1.25),
                            ConsecutivePositions{.first = 131'000, .tokens = tokens},
                            test::rows_for(dtype));
}

// rotate() into a tensor of its own.
Tensor rotated(const Tensor& k, const Rotations& rotations) {
  Tensor to({.dtype = k.view().dtype, .extents = k.extents()});
  test::require(rotate(to.view(), k.view(), rotations));
  return to;
}

// Checks the cache after token i, counted over all batch rows, was stored in slots[i].
testing::AssertionResult holds(const Tensor& cache, const Tensor& before, const Tensor& stored,
                               const std::vector<std::int64_t>& slots) {
  const std::int64_t slots_per_block = cache.extents().tokens;
  const std::int64_t tokens = stored.extents().tokens;
  std::vector<std::int64_t> token_of(
      static_cast<std::size_t>(cache.extents().batch * slots_per_block), not_stored);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= 0) token_of[static_cast<std::size_t>(slots[i])] = static_cast<std::int64_t>(i);
  }
  const bool same = stored.view().dtype == cache.view().dtype;
  Tensor expected = before;
  for_each_element(cache.extents(), [&](const HeadIndex& at, std::int64_t f) {
    const std::int64_t token =
        token_of[static_cast<std::size_t>(at.batch * slots_per_block + at.token)];
    if (token == not_stored) return;
    const HeadIndex from{.batch = token / tokens, .token = token % tokens, .head = at.head};
    if (same) {
      expected.set_bits(at, f, stored.bits_at(from, f));
    } else {
      expected.set(at, f, stored.at(from, f));  // to nearest even
    }
  });
  if (cache.bytes() == expected.bytes()) return testing::AssertionSuccess();
  testing::AssertionResult result = testing::AssertionFailure();
  for_each_element(cache.extents(), [&](const HeadIndex& at, std::int64_t f) {
    if (cache.bits_at(at, f) == expected.bits_at(at, f)) return;
    result << "block " << at.batch << " place " << at.token << " head " << at.head << " feature "
           << f << ": " << cache.at(at, f) << " where " << expected.at(at, f) << " must be\n";
  });
  return result << "bytes between the elements, if nothing is above";
}

// Two batch rows of seven tokens in pages of four slots: across page borders, backwards, with gaps,
// with the first and the last slot, and tokens that are not stored.
constexpr Extents k_extents{.batch = 2, .tokens = 7, .heads = 3, .features = 46};
constexpr Extents v_extents{.batch = 2, .tokens = 7, .heads = 2, .features = 21};
const std::vector<std::int64_t> paged = {22, 23, 24, 25, -1, 27, 0, 17, 16, -9, 1, 2, 3, 4};
constexpr std::int64_t pages = 7;
constexpr std::int64_t page_size = 4;

Extents cache_of(const Extents& heads, std::int64_t blocks, std::int64_t slots) {
  return {.batch = blocks, .tokens = slots, .heads = heads.heads, .features = heads.features};
}

HeadWindow window_with(Pairing pairing) {
  return {.head_dim = 46, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
}

struct Conversion {
  DType from;
  DType to;
};
constexpr std::array conversions = {
    Conversion{DType::f32, DType::f32},  Conversion{DType::bf16, DType::bf16},
    Conversion{DType::f16, DType::f16},  Conversion{DType::f64, DType::f64},
    Conversion{DType::f32, DType::bf16}, Conversion{DType::f32, DType::f16}};

template <class Visit>
void for_each_case(Visit visit) {
  for (const Pairing pairing : all_pairings) {
    for (const Conversion& each : conversions) {
      for (const Layout layout : cache_layouts) {
        SCOPED_TRACE(test::describe(each.from, pairing, Direction::forward) + " to " +
                     std::string(to_string(each.to)) + " " + std::string(to_string(layout)));
        visit(pairing, each, layout);
      }
    }
  }
}

TEST(Append, StoresKeysAndValuesByASlotMap) {
  for_each_case([](Pairing pairing, const Conversion& dtypes, Layout layout) {
    const Rotations rotations = rotations_for(window_with(pairing), 7, dtypes.from);
    const Tensor k = test::random_tensor({dtypes.from, k_extents, Layout::bhtd}, 50);
    const Tensor v = test::random_tensor({dtypes.from, v_extents, Layout::padded}, 51);
    Tensor k_cache =
        test::random_tensor({dtypes.to, cache_of(k_extents, pages, page_size), layout}, 52);
    Tensor v_cache =
        test::random_tensor({dtypes.to, cache_of(v_extents, pages, page_size), layout}, 53);
    const Tensor k_before = k_cache;
    const Tensor v_before = v_cache;
    test::require(append({k_cache.view(), v_cache.view()}, {k.view(), v.view()}, slots_of(paged, 2),
                         {.rotations = &rotations}));
    ASSERT_TRUE(holds(k_cache, k_before, rotated(k, rotations), paged));
    ASSERT_TRUE(holds(v_cache, v_before, v, paged));
  });
}

TEST(Append, StoresInConsecutiveSlotsOfEachBatchRow) {
  const std::vector<std::int64_t> slots = {4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20, 21, 22};
  for_each_case([&](Pairing pairing, const Conversion& dtypes, Layout layout) {
    const Rotations rotations = rotations_for(window_with(pairing), 7, dtypes.from);
    const Tensor k = test::random_tensor({dtypes.from, k_extents, Layout::fused_qkv}, 54);
    Tensor cache = test::random_tensor({dtypes.to, cache_of(k_extents, 3, 12), layout}, 55);
    const Tensor before = cache;
    test::require(
        append({cache.view()}, {k.view()}, ConsecutiveSlots{4}, {.rotations = &rotations}));
    ASSERT_TRUE(holds(cache, before, rotated(k, rotations), slots));
    test::require(append({cache.view()}, {k.view()}, ConsecutiveSlots{4}));
    ASSERT_TRUE(holds(cache, before, k, slots)) << "not rotated";
  });
}

// Separate positions for each batch row, as in a ragged batch.
TEST(Append, RotatesByTheRowsOfEachBatchRow) {
  const std::vector<std::int64_t> numbers = {7,      70,     700,    7'000,  70'000, -7, -70,
                                             99'999, 88'888, 77'777, 66'666, 5,      4,  3};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window_with(Pairing::half)),
                                                 positions_of(numbers, 2));
  const Tensor k = test::random_tensor({DType::f32, k_extents}, 61);
  for (const DType to : {DType::f32, DType::bf16}) {
    Tensor cache({to, cache_of(k_extents, pages, page_size)});
    const Tensor before = cache;
    test::require(
        append({cache.view()}, {k.view()}, slots_of(paged, 2), {.rotations = &rotations}));
    EXPECT_TRUE(holds(cache, before, rotated(k, rotations), paged));
  }
}

// Keys of a cached document are shifted on their way into another cache: one row serves every
// token.
TEST(Append, RotatesByTheOneRowOfAShift) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half));
  const RotatedAt from{frequencies, ConsecutivePositions{.first = 900, .tokens = 7}};
  const RotatedAt to{frequencies, ConsecutivePositions{.first = 20, .tokens = 7}};
  const Rotations one = test::value_of(make_shift(from, to));
  ASSERT_EQ(one.row_stride(), 0);
  const Tensor k = test::random_tensor({DType::f32, k_extents}, 62);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Tensor cache({dtype, cache_of(k_extents, pages, page_size)});
    const Tensor before = cache;
    test::require(append({cache.view()}, {k.view()}, slots_of(paged, 2), {.rotations = &one}));
    EXPECT_TRUE(holds(cache, before, rotated(k, one), paged));
  }
}

// A map of int32 in a larger array, its rows backwards: the same as one of int64.
TEST(Append, ReadsAMapWithStrides) {
  const Rotations rotations = rotations_for(window_with(Pairing::half), 7, DType::f32);
  const Tensor k = test::random_tensor({DType::f32, k_extents}, 56);
  Tensor cache({DType::f32, cache_of(k_extents, pages, page_size)});
  const Tensor before = cache;
  std::vector<std::int32_t> numbers(60, 1 << 30);
  for (std::size_t i = 0; i < paged.size(); ++i) {
    numbers[50 - i / 7 * 30 - i % 7 * 3] = static_cast<std::int32_t>(paged[i]);
  }
  const TokenArray<std::int32_t> map{
      .data = &numbers[50], .batch = 2, .tokens = 7, .batch_stride = -30, .token_stride = -3};
  test::require(append({cache.view()}, {k.view()}, map, {.rotations = &rotations}));
  EXPECT_TRUE(holds(cache, before, rotated(k, rotations), paged));
}

// Lengths with every tail and magnitudes of every size: the 16-bit result is the rounded float32
// result.
TEST(Append, NarrowsHeadsOfEveryLength) {
  for (std::int64_t features = 2; features <= 140; features += features < 72 ? 2 : 14) {
    for (const Pairing pairing : all_pairings) {
      const HeadWindow window{
          .head_dim = features, .rotary_dim = features, .first_feature = 0, .pairing = pairing};
      const Extents n{.tokens = 3, .heads = 2, .features = features};
      const Rotations rotations = rotations_for(window, 3, DType::f32);
      Tensor k({DType::f32, n});
      test::Random random(static_cast<std::uint64_t>(57 + features));
      fill_with_any_magnitude(k, random);
      for (const DType to : {DType::bf16, DType::f16}) {
        SCOPED_TRACE(std::to_string(features) + " " + test::describe(to, pairing, {}));
        Tensor k_cache({to, n});
        Tensor v_cache({to, n});
        const Tensor before = k_cache;
        const std::vector<std::int64_t> slots = {0, 1, 2};
        test::require(append({k_cache.view(), v_cache.view()}, {k.view(), k.view()},
                             ConsecutiveSlots{}, {.rotations = &rotations}));
        ASSERT_TRUE(holds(k_cache, before, rotated(k, rotations), slots));
        ASSERT_TRUE(holds(v_cache, before, k, slots));
      }
    }
  }
}

// The reference itself, beyond position 131072, within the bound of the cache's dtype.
TEST(Append, IsWithinTheBoundOfTheReference) {
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 40, .rotary_dim = 40, .first_feature = 0, .pairing = pairing};
    const Frequencies frequencies = test::frequencies_of(window, 1.25);
    const ConsecutivePositions positions{.first = 131'069, .tokens = 6};
    const test::Oracle oracle(frequencies, positions);
    const Rotations rotations = test::rotations_of(frequencies, positions);
    const Tensor k = test::random_tensor(
        {.dtype = DType::f32, .extents = {.tokens = 6, .heads = 2, .features = 40}}, 58);
    for (const DType to : {DType::f32, DType::bf16, DType::f16}) {
      SCOPED_TRACE(test::describe(to, pairing, Direction::forward));
      Tensor cache({to, {.tokens = 9, .heads = 2, .features = 40}, Layout::bhtd});
      test::require(
          append({cache.view()}, {k.view()}, ConsecutiveSlots{2}, {.rotations = &rotations}));
      HeadsView stored = cache.view();
      stored.data = static_cast<std::byte*>(stored.data) + 2 * 40 * size_in_bytes(to);
      stored.extents.tokens = 6;
      EXPECT_TRUE(oracle.accepts(stored, k.view(), Direction::forward));
    }
  }
}

// A long call whose parts run in any order, to slots in any order: the bytes of one thread.
TEST(Append, GivesTheSameBytesForAnySplit) {
  constexpr std::int64_t tokens = 300;
  const Extents n{.batch = 2, .tokens = tokens, .heads = 2, .features = 46};
  const Rotations rotations = rotations_for(window_with(Pairing::interleaved), tokens, DType::f32);
  const Tensor k = test::random_tensor({DType::f32, n}, 59);
  std::vector<std::int64_t> slots;
  for (std::int64_t i = 0; i < 2 * tokens; ++i) slots.push_back(i / 10 * 10 + (i * 7 + 3) % 10);
  const HeadNorm norm{.epsilon = 1e-6, .over = NormOver::all_heads};
  for (const AppendOptions& options : {AppendOptions{.rotations = &rotations},
                                       AppendOptions{.rotations = &rotations,
                                       .k_norm = KeyNorm{norm, NormOrder::after_rotation}}}) {
    Tensor whole({DType::bf16, cache_of(n, 75, 8), Layout::bhtd});
    test::require(append({whole.view()}, {k.view()}, slots_of(slots, 2), options));
    for (const std::int64_t concurrency : {2, 3, 64}) {
      test::CountingExecutor executor(test::run_backwards, concurrency);
      Tensor parts({DType::bf16, cache_of(n, 75, 8), Layout::bhtd});
      AppendOptions cut = options;
      cut.executor = executor.executor();
      test::require(append({parts.view()}, {k.view()}, slots_of(slots, 2), cut));
      EXPECT_EQ(executor.tasks(), std::min<std::int64_t>(concurrency, 600 / 32));
      ASSERT_EQ(parts.bytes(), whole.bytes());
    }
  }
}

TEST(Append, OfNothingSucceeds) {
  const Rotations rotations = rotations_for(window_with(Pairing::half), 7, DType::f32);
  Tensor cache({DType::f32, cache_of(k_extents, pages, page_size)});
  const Tensor before = cache;
  Extents none = k_extents;
  none.heads = 0;
  const HeadsView no_heads{nullptr, DType::f32, cache_of(none, pages, page_size), {1, 2, 3, 1}};
  EXPECT_TRUE(append({no_heads}, {{nullptr, DType::f32, none, {5, 6, 7, 1}}}, slots_of(paged, 2),
                     {.rotations = &rotations}));
  const Tensor v = test::random_tensor({DType::f32, k_extents}, 60);
  EXPECT_TRUE(append({no_heads, cache.view()},
                     {{nullptr, DType::f32, none, {5, 6, 7, 1}}, v.view()}, slots_of(paged, 2),
                     {.rotations = &rotations}));
  EXPECT_TRUE(holds(cache, before, v, paged)) << "v alone";
  const std::vector<std::int64_t> padding(14, -1);
  Tensor untouched = before;
  EXPECT_TRUE(
      append({untouched.view()}, {v.view()}, slots_of(padding, 2), {.rotations = &rotations}));
  EXPECT_EQ(untouched.bytes(), before.bytes());
}

}  // namespace
}  // namespace rotary
