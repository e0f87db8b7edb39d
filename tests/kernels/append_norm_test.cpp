// SPDX-License-Identifier: Apache-2.0
// QK-norm, on its own and in append before and after the rotation: against the long double
// reference within the published bounds, and bit for bit against the steps one by one.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check/keys.hpp"
#include "reference/tensor.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::for_each_element;
using test::HeadIndex;
using test::Layout;
using test::Shape;
using test::Tensor;

constexpr Extents extents{.batch = 2, .tokens = 3, .heads = 5, .features = 46};
constexpr ConsecutivePositions positions{.first = 131'000, .tokens = 3};
constexpr double attention_factor = 1.25;

HeadWindow window_with(Pairing pairing) {
  return {.head_dim = 46, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
}

// No weights; one row for every head with an offset; a row for each head.
struct NormCase {
  std::string name;
  std::vector<float> weight;
  HeadNorm norm;
};

NormCase norm_case(std::string name, const HeadNorm& norm, std::int64_t weights) {
  NormCase each{std::move(name), std::vector<float>(static_cast<std::size_t>(weights)), norm};
  test::Random random(61);
  for (float& weight : each.weight) weight = random.activation();
  each.norm.weight = each.weight;  // a moved vector keeps its elements where they are
  return each;
}

std::vector<NormCase> norm_cases(const Extents& n) {
  std::vector<NormCase> cases;
  cases.push_back(norm_case("bare", {.epsilon = 1e-5, .over = NormOver::each_head}, 0));
  cases.push_back(norm_case(
      "Gemma", {.weight_offset = 1, .epsilon = 1e-6, .over = NormOver::each_head}, n.features));
  cases.push_back(
      norm_case("all heads", {.epsilon = 0.25, .over = NormOver::all_heads}, n.heads * n.features));
  return cases;
}

constexpr std::array normalized_dtypes = {DType::f32, DType::bf16, DType::f16};

std::vector<long double> token_values(const Tensor& tensor, std::int64_t batch, std::int64_t t) {
  std::vector<long double> values;
  for (std::int64_t h = 0; h < tensor.extents().heads; ++h) {
    for (std::int64_t f = 0; f < tensor.extents().features; ++f) {
      values.push_back(tensor.at({.batch = batch, .token = t, .head = h}, f));
    }
  }
  return values;
}

Tensor any_magnitudes(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(shape);
  test::Random random(seed);
  fill_with_any_magnitude(tensor, random);
  return tensor;
}

// Token (batch, t) of `got` is what the norm, and the turn, make of that of `src`.
struct TokenPlace {
  std::int64_t batch = 0;
  std::int64_t source = 0;
  std::int64_t stored = 0;
};
void expect_exact(const Tensor& got, const Tensor& src, const TokenPlace& at, const KeyNorm& norm,
                  const std::optional<check::KeyTurn>& turn = {}) {
  const auto exact =
      check::normalized(token_values(src, at.batch, at.source), src.extents().heads, norm, turn);
  ASSERT_TRUE(exact);
  // fault() leaves out sizes that the contract says nothing of; here there are none.
  for (const long double size : exact->sizes)
    ASSERT_TRUE(size == 0 || (size >= 0x1p-100L && size < 65000)) << static_cast<double>(size);
  ASSERT_EQ(check::fault(*exact, token_values(got, at.batch, at.stored), got.view().dtype), "")
      << "token " << at.source << " of batch row " << at.batch;
}

void expect_normalized(const Tensor& got, const Tensor& src, const HeadNorm& norm) {
  for (std::int64_t b = 0; b < src.extents().batch; ++b) {
    for (std::int64_t t = 0; t < src.extents().tokens; ++t)
      ASSERT_NO_FATAL_FAILURE(
          expect_exact(got, src, {b, t, t}, {norm, NormOrder::before_rotation}));
  }
}

TEST(NormalizeHeads, IsTheReferenceWithinTheBound) {
  for (const NormCase& each : norm_cases(extents)) {
    for (const DType dtype : normalized_dtypes) {
      for (const Layout layout : {Layout::bthd, Layout::bhtd, Layout::padded}) {
        SCOPED_TRACE(each.name + " " + std::string(to_string(dtype)));
        const Tensor src = moved_to(layout, any_magnitudes({dtype, extents}, 62));
        Tensor dst({dtype, extents, Layout::fused_qkv});
        test::require(normalize_heads(dst.view(), src.view(), each.norm));
        expect_normalized(dst, src, each.norm);
        ASSERT_TRUE(dst.guards_intact());
        Tensor in_place = src;
        test::require(normalize_heads(in_place.view(), in_place.view(), each.norm));
        ASSERT_EQ(in_place.all_bits(), dst.all_bits());
      }
    }
  }
}

TEST(NormalizeHeads, OfEveryLengthNarrowedOnce) {
  for (const std::int64_t features :
       {1, 2, 3, 5, 7, 8, 15, 17, 31, 33, 63, 100, 511, 512, 513, 1300}) {
    const Extents n{.tokens = 2, .heads = 2, .features = features};
    for (const NormCase& each : norm_cases(n)) {
      SCOPED_TRACE(each.name + " " + std::to_string(features));
      const Tensor src = any_magnitudes({DType::f32, n}, 63);
      Tensor wide({DType::f32, n});
      test::require(normalize_heads(wide.view(), src.view(), each.norm));
      expect_normalized(wide, src, each.norm);
      for (const DType to : {DType::bf16, DType::f16}) {
        Tensor narrow({to, n});
        Tensor rounded({to, n});
        for_each_element(
            n, [&](const HeadIndex& at, std::int64_t f) { rounded.set(at, f, wide.at(at, f)); });
        test::require(normalize_heads(narrow.view(), src.view(), each.norm));
        ASSERT_EQ(narrow.all_bits(), rounded.all_bits());
      }
    }
  }
}

// A head of zeros stays 0; NaN and Inf stay in their head.
TEST(NormalizeHeads, SpecialValues) {
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
  EXPECT_NEAR(x.at({.head = 3}, 0), std::sqrt(8.0), 1e-6) << "its square is no float32";
}

// The cache holds this tensor, from slot 4 of each block on.
void expect_stored(const Tensor& cache, const Tensor& exact) {
  for_each_element(exact.extents(), [&](HeadIndex at, std::int64_t f) {
    const std::uint64_t bits = exact.bits_at(at, f);
    at.token += 4;
    ASSERT_EQ(cache.bits_at(at, f), bits) << "head " << at.head << " feature " << f;
  });
}

Tensor empty_cache(DType dtype, Extents n) {
  n.tokens = 9;
  return Tensor({dtype, n, Layout::bhtd});
}

Tensor rounded_to(DType dtype, const Tensor& wide) {
  Tensor rounded({dtype, wide.extents()});
  for_each_element(wide.extents(), [&](const HeadIndex& at, std::int64_t f) {
    rounded.set(at, f, wide.at(at, f));
  });
  return rounded;
}

// normalize_heads and rotate in float32, one after the other: the same bits, rounded once.
void expect_steps_one_by_one(const Extents& n, const HeadWindow& window) {
  const Rotations rotations =
      test::rotations_of(test::frequencies_of(window, attention_factor), positions);
  const Tensor k = any_magnitudes({DType::f32, n}, 65);
  for (const NormCase& each : norm_cases(n)) {
    for (const NormOrder order : {NormOrder::before_rotation, NormOrder::after_rotation}) {
      const bool before = order == NormOrder::before_rotation;
      SCOPED_TRACE(each.name + " " +
                   test::describe(DType::f32, window.pairing, Direction::forward) +
                   (before ? " normalised first" : " rotated first"));
      Tensor steps({DType::f32, n});
      copy_elements(steps, k);
      if (before) test::require(normalize_heads(steps.view(), steps.view(), each.norm));
      test::require(rotate(steps.view(), steps.view(), rotations));
      if (!before) test::require(normalize_heads(steps.view(), steps.view(), each.norm));
      for (const DType to : normalized_dtypes) {
        Tensor cache = empty_cache(to, n);
        test::require(append({cache.view()}, {k.view()}, ConsecutiveSlots{4},
                             {.rotations = &rotations, .k_norm = KeyNorm{each.norm, order}}));
        ASSERT_NO_FATAL_FAILURE(expect_stored(cache, rounded_to(to, steps)));
        ASSERT_TRUE(cache.guards_intact());
      }
    }
  }
}

TEST(AppendNorm, OfFloat32IsTheStepsOneByOne) {
  for (const Pairing pairing : all_pairings) {
    expect_steps_one_by_one(extents, window_with(pairing));
  }
}

// More heads than fit in the buffer at once: two, then two, then one.
TEST(AppendNorm, OfLongHeadsIsTheStepsOneByOne) {
  const Extents n{.tokens = 3, .heads = 5, .features = 900};
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved_to_half}) {
    expect_steps_one_by_one(
        n, {.head_dim = 900, .rotary_dim = 64, .first_feature = 836, .pairing = pairing});
  }
}

TEST(AppendNorm, WithoutRotationIsNormalizeHeads) {
  for (const NormCase& each : norm_cases(extents)) {
    for (const DType dtype : normalized_dtypes) {
      const Tensor k = any_magnitudes({dtype, extents}, 66);
      Tensor normalized = k;
      test::require(normalize_heads(normalized.view(), normalized.view(), each.norm));
      Tensor cache = empty_cache(dtype, extents);
      test::require(append({cache.view()}, {k.view()}, ConsecutiveSlots{4},
                           {.k_norm = KeyNorm{each.norm, NormOrder::before_rotation}}));
      ASSERT_NO_FATAL_FAILURE(expect_stored(cache, normalized));
    }
  }
}

TEST(AppendNorm, IsTheReferenceWithinTheBound) {
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window = window_with(pairing);
    const Frequencies frequencies = test::frequencies_of(window, attention_factor);
    const reference::AngleRows rows(positions, frequencies.inv_freq);
    const Rotations rotations = test::rotations_of(frequencies, positions);
    for (const NormCase& each : norm_cases(extents)) {
      for (const NormOrder order : {NormOrder::before_rotation, NormOrder::after_rotation}) {
        for (const DType dtype : normalized_dtypes) {
          SCOPED_TRACE(each.name + " " + test::describe(dtype, pairing, Direction::forward));
          const Tensor k = any_magnitudes({dtype, extents, Layout::padded}, 67);
          Tensor cache = empty_cache(dtype, extents);
          const KeyNorm k_norm{each.norm, order};
          test::require(append({cache.view()}, {k.view()}, ConsecutiveSlots{4},
                               {.rotations = &rotations, .k_norm = k_norm}));
          for (std::int64_t i = 0; i < extents.batch * extents.tokens; ++i) {
            const std::int64_t b = i / extents.tokens;
            const std::int64_t t = i % extents.tokens;
            check::KeyTurn turn{
                window, {}, attention_factor, static_cast<long double>(positions.first + t)};
            for (const auto& [cos, sin] : rows.at(0, t))
              turn.row.push_back({attention_factor * cos, attention_factor * sin});
            ASSERT_NO_FATAL_FAILURE(expect_exact(cache, k, {b, t, t + 4}, k_norm, turn));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rotary
