// SPDX-License-Identifier: Apache-2.0
// Tests append and normalize_heads on heads of many lengths. Stored bits are the float32 results of
// rotate() and of the norm, rounded once to the cache's dtype. The fuzz target append covers slots,
// layouts, dtypes and batch rows.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check/keys.hpp"
#include "check/views.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/int8_heads.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::for_each_element;
using test::HeadIndex;
using test::Int8Heads;
using test::Lying;
using test::Tensor;

constexpr std::array stored_dtypes = {DType::f32, DType::bf16, DType::f16};

// Lengths with every tail of a vector, and lengths at which the buffer holds only some heads.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t length = 2; length < 72; length += length < 35 ? 1 : 2) all.push_back(length);
  all.insert(all.end(), {126, 128, 130, 510, 512, 900, 1300, 2048});
  return all;
}

Tensor any_magnitudes(const Extents& n, std::uint64_t seed) {
  Tensor tensor({.dtype = DType::f32, .extents = n});
  test::Random random(seed);
  fill_with_any_magnitude(tensor, random);
  return tensor;
}

std::vector<float> numbers_at(const Tensor& floats, const HeadIndex& at) {
  const std::vector<double> head = check::head_at(floats.view(), at);
  return {head.begin(), head.end()};
}

// Appends k as keys and values. Expects `stored` and k, rounded to each dtype (int8: keys alone).
void expect_stored(const Tensor& k, const Tensor& stored, const AppendOptions& options) {
  const Extents& n = k.extents();
  for (const DType to : stored_dtypes) {
    Tensor k_cache({to, n});
    Tensor v_cache({to, n});
    test::require(append({k_cache.view(), v_cache.view()}, {k.view(), k.view()}, ConsecutiveSlots{},
                         options));
    ASSERT_EQ(k_cache.bytes(), test::rounded_to(to, stored).bytes()) << to_string(to);
    ASSERT_EQ(v_cache.bytes(), test::rounded_to(to, k).bytes()) << to_string(to);
  }
  const Int8Heads cache(n, Lying::padded);
  test::require(append(QuantizedKvCache{cache.view()}, {k.view()}, ConsecutiveSlots{}, options));
  for_each_element(n, [&](const HeadIndex& at, std::int64_t f) {
    if (f > 0) return;
    ASSERT_TRUE(cache.head(at).has_bits_of(check::in_int8(numbers_at(stored, at))));
  });
  ASSERT_TRUE(cache.guards_intact());
}

Rotations rotations_for(std::int64_t features, Pairing pairing, const Extents& n) {
  const std::int64_t first = features > 512 ? features - 64 : 0;
  const HeadWindow window{.head_dim = features,
                          .rotary_dim = (features - first) / 2 * 2,
                          .first_feature = first,
                          .pairing = pairing};
  return test::rotations_of(test::frequencies_of(window, 1.25),
                            ConsecutivePositions{.first = 131'000, .tokens = n.tokens});
}

TEST(Append, StoresTheBitsOfRotate) {
  for (const std::int64_t features : lengths()) {
    for (const Pairing pairing : all_pairings) {
      SCOPED_TRACE(std::to_string(features) + " " + test::describe(DType::f32, pairing, {}));
      const Extents n{.tokens = 3, .heads = 3, .features = features};
      const Rotations rotations = rotations_for(features, pairing, n);
      const Tensor k = any_magnitudes(n, static_cast<std::uint64_t>(57 + features));
      Tensor rotated = k;
      test::require(rotate(rotated.view(), rotated.view(), rotations));
      ASSERT_NO_FATAL_FAILURE(expect_stored(k, rotated, {.rotations = &rotations}));
    }
  }
}

// Norms without weights, with weights that all heads share, and with weights for each head.
std::vector<HeadNorm> norms_of(const Extents& n) {
  static const std::vector<float> weights = [] {
    std::vector<float> all(5 * 2048);
    test::Random random(61);
    for (float& weight : all) weight = random.activation();
    return all;
  }();
  const auto first = [&](std::int64_t count) {
    return std::span(weights).first(static_cast<std::size_t>(count));
  };
  return {{.epsilon = 1e-5, .over = NormOver::each_head},
          {.weight = first(n.features),
           .weight_offset = 1,
           .epsilon = 1e-6,
           .over = NormOver::each_head},
          {.weight = first(n.heads * n.features), .epsilon = 0.25, .over = NormOver::all_heads}};
}

// Compares each token with the norm in long double.
void expect_normalized(const Tensor& got, const Tensor& src, const HeadNorm& norm) {
  const Extents& n = src.extents();
  const auto token_of = [&](const Tensor& tensor, std::int64_t token) {
    std::vector<long double> values;
    for (std::int64_t i = 0; i < n.heads * n.features; ++i)
      values.push_back(tensor.at({.token = token, .head = i / n.features}, i % n.features));
    return values;
  };
  for (std::int64_t token = 0; token < n.tokens; ++token) {
    const auto exact =
        check::normalized(token_of(src, token), n.heads, {norm, NormOrder::before_rotation});
    ASSERT_TRUE(exact);
    ASSERT_EQ(check::fault(*exact, token_of(got, token), DType::f32), "");
  }
}

TEST(Append, EqualsNormAndRotationInEitherOrder) {
  for (const std::int64_t features : lengths()) {
    const Extents n{.tokens = 2, .heads = 5, .features = features};
    const Pairing pairing = all_pairings[static_cast<std::size_t>(features / 2 % 3)];
    const Rotations rotations = rotations_for(features, pairing, n);
    const Tensor k = any_magnitudes(n, 65);
    for (const HeadNorm& norm : norms_of(n)) {
      SCOPED_TRACE(std::to_string(features) + " " + std::to_string(norm.weight.size()));
      Tensor normalized = k;
      test::require(normalize_heads(normalized.view(), normalized.view(), norm));
      ASSERT_NO_FATAL_FAILURE(expect_normalized(normalized, k, norm));
      KeyNorm k_norm{norm, NormOrder::before_rotation};
      ASSERT_NO_FATAL_FAILURE(expect_stored(k, normalized, {.k_norm = k_norm}));
      test::require(rotate(normalized.view(), normalized.view(), rotations));
      ASSERT_NO_FATAL_FAILURE(
          expect_stored(k, normalized, {.rotations = &rotations, .k_norm = k_norm}));
      k_norm.order = NormOrder::after_rotation;
      Tensor rotated = k;
      test::require(rotate(rotated.view(), rotated.view(), rotations));
      test::require(normalize_heads(rotated.view(), rotated.view(), norm));
      ASSERT_NO_FATAL_FAILURE(
          expect_stored(k, rotated, {.rotations = &rotations, .k_norm = k_norm}));
    }
  }
}

TEST(NormalizeHeads, SpecialValuesStayInTheirHead) {
  const Extents n{.tokens = 1, .heads = 4, .features = 8};
  Tensor x = test::random_tensor({DType::f32, n}, 64);
  for (std::int64_t f = 0; f < 8; ++f) x.set({.head = 0}, f, 0);
  x.set({.head = 1}, 3, std::numeric_limits<double>::quiet_NaN());
  x.set({.head = 2}, 5, std::numeric_limits<double>::infinity());
  x.set({.head = 3}, 0, std::numeric_limits<float>::max());
  test::require(
      normalize_heads(x.view(), x.view(), {.epsilon = 1e-6, .over = NormOver::each_head}));
  for (std::int64_t f = 0; f < 8; ++f) {
    EXPECT_EQ(x.at({.head = 0}, f), 0);
    EXPECT_TRUE(std::isnan(x.at({.head = 1}, f)));
    EXPECT_EQ(std::isnan(x.at({.head = 2}, f)), f == 5) << "1 / Inf is 0, Inf * 0 is NaN";
  }
  EXPECT_NEAR(x.at({.head = 3}, 0), std::sqrt(8.0), 1e-6) << "its square overflows float32";
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// The heads hold ties, the largest and smallest numbers, NaN and Inf. Some get the scale 0.
TEST(AppendInt8, SpecialHeadsHaveTheExpectedBytes) {
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
  for_each_element(n, [&](const HeadIndex& at, std::int64_t f) {
    x.set(at, f, heads[static_cast<std::size_t>(at.head)][static_cast<std::size_t>(f)]);
  });
  const Int8Heads cache(n, Lying::bthd);
  test::require(append(QuantizedKvCache{cache.view()}, {x.view()}, ConsecutiveSlots{}));
  for (std::int64_t h = 0; h < 8; ++h) {
    const auto& numbers = heads[static_cast<std::size_t>(h)];
    EXPECT_TRUE(cache.head({.head = h}).has_bits_of(check::in_int8(numbers))) << h;
  }
  EXPECT_EQ(cache.head({}).elements, (std::vector<std::int8_t>{0, 2, -2, 127}));
  EXPECT_EQ(cache.scale({}), 1);
  EXPECT_EQ(cache.scale({.head = 2}), 0);
  EXPECT_TRUE(std::isnan(cache.scale({.head = 5})) && std::isnan(cache.scale({.head = 7})));
}

}  // namespace
}  // namespace rotary
