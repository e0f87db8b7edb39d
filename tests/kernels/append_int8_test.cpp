// SPDX-License-Identifier: Apache-2.0
// append to a cache in 8 bits: each head holds what the definition makes of the float32 numbers
// that append stores in an f32 cache, to the bit; every other byte is as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check/keys.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/int8_heads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::all_lyings;
using test::for_each_element;
using test::HeadIndex;
using test::Int8Heads;
using test::Layout;
using test::Lying;
using test::Tensor;

constexpr Extents k_extents{.batch = 2, .tokens = 7, .heads = 3, .features = 46};
constexpr Extents v_extents{.batch = 2, .tokens = 7, .heads = 2, .features = 21};
constexpr std::int64_t pages = 7;
constexpr std::int64_t page_size = 4;
const std::vector<std::int64_t> slots = {22, 23, 24, 25, -1, 27, 0, 17, 16, -9, 1, 2, 3, 4};

Extents cache_of(Extents heads, std::int64_t blocks, std::int64_t of_block) {
  heads.batch = blocks;
  heads.tokens = of_block;
  return heads;
}

// The head that the definition makes of float32 numbers.
void store_exactly(const std::vector<float>& numbers, const Int8Heads& to, const HeadIndex& at) {
  const check::Int8Head head = check::in_int8(numbers);
  to.scale(at) = head.scale;
  for (std::size_t f = 0; f < numbers.size(); ++f)
    to.element(at, static_cast<std::int64_t>(f)) = head.elements[f];
}

// The float32 numbers of a slot.
std::vector<float> numbers_at(const Tensor& floats, const HeadIndex& at) {
  std::vector<float> numbers;
  for (std::int64_t f = 0; f < floats.extents().features; ++f)
    numbers.push_back(static_cast<float>(floats.at(at, f)));
  return numbers;
}

// Stores in `to` what an f32 cache has got in the slots that are stored to.
void store_stored(const Tensor& floats, const std::vector<std::int64_t>& stored,
                  const Int8Heads& to) {
  const Extents& n = floats.extents();
  for (const std::int64_t slot : stored) {
    for (std::int64_t head = 0; slot >= 0 && head < n.heads; ++head) {
      const HeadIndex at{slot / n.tokens, slot % n.tokens, head};
      store_exactly(numbers_at(floats, at), to, at);
    }
  }
}

// The keys and values of a call.
struct Given {
  Tensor k;
  Tensor v;
  AppendOptions options;
};

Tensor widened(const Tensor& tensor) {
  Tensor wide({.dtype = DType::f32, .extents = tensor.extents()});
  for_each_element(tensor.extents(),
                   [&](const HeadIndex& at, std::int64_t f) { wide.set(at, f, tensor.at(at, f)); });
  return wide;
}

void expect_stored(const Given& given, Lying lying) {
  const Extents of_k = cache_of(given.k.extents(), pages, page_size);
  const Extents of_v = cache_of(given.v.extents(), pages, page_size);
  Tensor k_floats({DType::f32, of_k});
  Tensor v_floats({DType::f32, of_v});
  const Tensor k = widened(given.k);
  const Tensor v = widened(given.v);
  const auto to = slots_of(slots, 2);
  test::require(
      append({k_floats.view(), v_floats.view()}, {k.view(), v.view()}, to, given.options));
  const Int8Heads k_wanted(of_k, lying);
  const Int8Heads v_wanted(of_v, lying);
  const Int8Heads k_cache(of_k, lying);
  const Int8Heads v_cache(of_v, lying);
  store_stored(k_floats, slots, k_wanted);
  store_stored(v_floats, slots, v_wanted);
  test::require(append(QuantizedKvCache{k_cache.view(), v_cache.view()},
                       {given.k.view(), given.v.view()}, to, given.options));
  ASSERT_EQ(k_cache.bytes(), k_wanted.bytes());
  ASSERT_EQ(v_cache.bytes(), v_wanted.bytes());
}

HeadWindow window_with(Pairing pairing) {
  return {.head_dim = 46, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
}

Rotations rotations_for(const HeadWindow& window, std::int64_t tokens) {
  return test::rotations_of(test::frequencies_of(window, 1.25),
                            ConsecutivePositions{.first = 131'000, .tokens = tokens});
}

TEST(AppendInt8, StoresKeysAndValuesByASlotMap) {
  for (const Pairing pairing : all_pairings) {
    const Rotations rotations = rotations_for(window_with(pairing), 7);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (const Lying lying : all_lyings) {
        SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + " " +
                     std::to_string(static_cast<int>(lying)));
        const Tensor k = test::random_tensor({dtype, k_extents, Layout::bhtd}, 50);
        const Tensor v = test::random_tensor({dtype, v_extents, Layout::padded}, 51);
        ASSERT_NO_FATAL_FAILURE(expect_stored({k, v, {.rotations = &rotations}}, lying));
        ASSERT_NO_FATAL_FAILURE(expect_stored({k, v, {}}, lying));
      }
    }
  }
}

// Norms of each head and of all, before the rotation and after it.
TEST(AppendInt8, NormalizesKeys) {
  const Rotations rotations = rotations_for(window_with(Pairing::half), 7);
  std::vector<float> weight;
  for (int i = 0; i < 3 * 46; ++i) weight.push_back(static_cast<float>(i % 7) - 2.5F);
  for (const NormOver over : {NormOver::each_head, NormOver::all_heads}) {
    const std::size_t gains = over == NormOver::each_head ? 46 : 3 * 46;
    const HeadNorm norm{.weight = std::span(weight).first(gains), .epsilon = 1e-6, .over = over};
    for (const NormOrder order : {NormOrder::before_rotation, NormOrder::after_rotation}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const Tensor k = test::random_tensor({dtype, k_extents}, 52);
        const Tensor v = test::random_tensor({dtype, v_extents}, 53);
        AppendOptions options{.rotations = &rotations, .k_norm = KeyNorm{norm, order}};
        ASSERT_NO_FATAL_FAILURE(expect_stored({k, v, options}, Lying::padded));
        if (order == NormOrder::after_rotation) continue;
        options.rotations = nullptr;
        ASSERT_NO_FATAL_FAILURE(expect_stored({k, v, options}, Lying::bhtd));
      }
    }
  }
}

// Every tail of a vector; more heads than go through float32 at once; magnitudes of every size.
TEST(AppendInt8, StoresHeadsOfEveryLength) {
  for (std::int64_t features = 2; features <= 2048;
       features += features < 72 ? 2 : (features < 800 ? 166 : 390)) {
    SCOPED_TRACE(features);
    const HeadWindow window{.head_dim = features,
                            .rotary_dim = features,
                            .first_feature = 0,
                            .pairing = Pairing::interleaved};
    const Rotations rotations = rotations_for(window, 7);
    const Extents n{.batch = 2, .tokens = 7, .heads = 3, .features = features};
    Tensor k({DType::f32, n});
    test::Random random(static_cast<std::uint64_t>(54 + features));
    fill_with_any_magnitude(k, random);
    Extents odd = n;
    odd.features -= 1;
    const Tensor v = test::random_tensor({DType::f16, odd}, 55);
    ASSERT_NO_FATAL_FAILURE(expect_stored({k, v, {.rotations = &rotations}}, Lying::bthd));
  }
}

// The reference itself, in long double: half a step and the error of the rotation. The largest
// number of a head is 127 steps.
TEST(AppendInt8, IsWithinTheBoundOfTheReference) {
  const HeadWindow window{
      .head_dim = 40, .rotary_dim = 40, .first_feature = 0, .pairing = Pairing::half};
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  const ConsecutivePositions positions{.first = 131'069, .tokens = 6};
  const Extents n{.tokens = 6, .heads = 2, .features = 40};
  const Tensor k = test::random_tensor({DType::f32, n}, 56);
  const Int8Heads cache(n, Lying::bhtd);
  const Rotations rotations = test::rotations_of(frequencies, positions);
  test::require(append(QuantizedKvCache{cache.view()}, {k.view()}, ConsecutiveSlots{},
                       {.rotations = &rotations}));
  const reference::AngleRows rows({positions, frequencies.inv_freq});
  for_each_rotated_head(
      k.view(), rows, {.window = window, .attention_factor = 1.25},
      [&](const reference::RotatedHead& head) {
        double most = 0;
        for (std::size_t f = 0; f < 40; ++f) {
          const long double x = head.exact[f];
          const long double y = head.exact[(f + 20) % 40];
          const auto hypot = static_cast<double>(std::hypot(x, y));
          const double before =
              rotate_error_bound(Direction::forward, 1.25, 131'074) * 0x1p-24 * hypot;
          const double element = cache.element(head.index, static_cast<std::int64_t>(f));
          const double scale = cache.scale(head.index);
          most = std::max(most, std::abs(element));
          ASSERT_LE(static_cast<double>(std::abs(scale * element - x)),
                    append_int8_error_bound(scale, before));
        }
        ASSERT_EQ(most, 127);
      });
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// Ties, the largest and the smallest numbers, and what has no scale.
TEST(AppendInt8, StoresSpecialHeads) {
  const std::vector<std::vector<float>> heads = {{0.5F, 1.5F, -2.5F, 127},
                                                 {0, -0.0F, 0, 0},
                                                 {0x1p-101F, 0, 0, -0x1.fffffep-101F},
                                                 {0x1p-100F, -0x1p-107F, 0x1p-149F, 0},
                                                 {std::numeric_limits<float>::max(), 1, 0, -1},
                                                 {1, infinity, 0, 1},
                                                 {1, 2, -infinity, std::nanf("")},
                                                 {std::nanf(""), 1, 2, 3}};
  const Extents n{.tokens = 1, .heads = 8, .features = 4};
  Tensor x({DType::f32, n});
  const Int8Heads wanted(n, Lying::bthd);
  const Int8Heads cache(n, Lying::bthd);
  for (std::int64_t h = 0; h < 8; ++h) {
    const auto& numbers = heads[static_cast<std::size_t>(h)];
    for (std::int64_t f = 0; f < 4; ++f)
      x.set({.head = h}, f, double{numbers[static_cast<std::size_t>(f)]});
    store_exactly(numbers, wanted, {.head = h});
  }
  test::require(append(QuantizedKvCache{cache.view()}, {x.view()}, ConsecutiveSlots{}));
  EXPECT_EQ(cache.bytes(), wanted.bytes());
  const std::array<int, 4> to_even = {0, 2, -2, 127};
  for (std::int64_t f = 0; f < 4; ++f)
    EXPECT_EQ(cache.element({}, f), to_even[static_cast<std::size_t>(f)]);
  EXPECT_EQ(cache.scale({}), 1);
  EXPECT_EQ(cache.scale({.head = 2}), 0);
  EXPECT_TRUE(std::isnan(cache.scale({.head = 5})) && std::isnan(cache.scale({.head = 7})));
}

TEST(AppendInt8, GivesTheSameBytesForAnySplit) {
  constexpr std::int64_t tokens = 300;
  const Extents n{.batch = 2, .tokens = tokens, .heads = 2, .features = 46};
  const Rotations rotations = rotations_for(window_with(Pairing::interleaved), tokens);
  const Tensor k = test::random_tensor({DType::f32, n}, 59);
  std::vector<std::int64_t> to;
  for (std::int64_t i = 0; i < 2 * tokens; ++i) to.push_back(i / 10 * 10 + (i * 7 + 3) % 10);
  const Int8Heads whole(cache_of(n, 75, 8), Lying::bhtd);
  test::require(append(QuantizedKvCache{whole.view()}, {k.view()}, slots_of(to, 2),
                       {.rotations = &rotations}));
  for (const std::int64_t concurrency : {2, 64}) {
    test::CountingExecutor executor(test::run_backwards, concurrency);
    const Int8Heads parts(cache_of(n, 75, 8), Lying::bhtd);
    test::require(append(QuantizedKvCache{parts.view()}, {k.view()}, slots_of(to, 2),
                         {.rotations = &rotations, .executor = executor.executor()}));
    EXPECT_EQ(executor.tasks(), std::min<std::int64_t>(concurrency, 600 / 32));
    ASSERT_EQ(parts.bytes(), whole.bytes());
  }
}

TEST(AppendInt8, OfNothingSucceeds) {
  const Rotations rotations = rotations_for(window_with(Pairing::half), 7);
  Extents none = k_extents;
  none.heads = 0;
  const QuantizedHeadsView no_heads{
      nullptr, nullptr, cache_of(none, pages, page_size), {1, 2, 3, 1}, {5, 6, 7}};
  EXPECT_TRUE(append(QuantizedKvCache{no_heads}, {{nullptr, DType::f32, none, {5, 6, 7, 1}}},
                     slots_of(slots, 2), {.rotations = &rotations}));
  const Tensor k = test::random_tensor({DType::f32, k_extents}, 60);
  const std::vector<std::int64_t> padding(14, -1);
  const Int8Heads cache(cache_of(k_extents, pages, page_size), Lying::bthd);
  const auto before = cache.bytes();
  EXPECT_TRUE(append(QuantizedKvCache{cache.view()}, {k.view()}, slots_of(padding, 2),
                     {.rotations = &rotations}));
  EXPECT_EQ(cache.bytes(), before);
}

}  // namespace
}  // namespace rotary
