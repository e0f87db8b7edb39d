// SPDX-License-Identifier: Apache-2.0
// Rotations made from cos and sin tables, in every layout of the engines. They keep the table's
// values, and rotate() gives the bits that it gives with computed rows.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/cases.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::all_row_bits;

constexpr std::int64_t pairs = 21;
constexpr std::int64_t tokens = 5;
constexpr double factor = 1.25;
constexpr Positions positions = ConsecutivePositions{.first = 131'000, .tokens = tokens};

HeadWindow window_of(Pairing pairing) {
  return {.head_dim = 50, .rotary_dim = 2 * pairs, .first_feature = 3, .pairing = pairing};
}

Rotations own_rows(Pairing pairing, RowDType rows = RowDType::f32) {
  return test::rotations_of(test::frequencies_of(window_of(pairing), factor), positions, rows);
}

Rotations from(Pairing pairing, CosSinView view, RowDType rows = RowDType::f32) {
  view.attention_factor = factor;
  return test::value_of(make_rotations(window_of(pairing), view, {.rows = rows}));
}

CosSinView rows_at(const float* cos, const float* sin, std::int64_t token_stride = 2 * pairs) {
  return {
      .cos = cos, .sin = sin, .dtype = DType::f32, .tokens = tokens, .token_stride = token_stride};
}

void expect_rotates_alike(const Rotations& a, const Rotations& b) {
  const test::Tensor src = test::random_tensor(
      {.dtype = DType::f32, .extents = {.tokens = tokens, .heads = 3, .features = 50}}, 60);
  test::Tensor by_a = src;
  test::Tensor by_b = src;
  test::require(rotate(by_a.view(), src.view(), a));
  test::require(rotate(by_b.view(), src.view(), b));
  EXPECT_EQ(by_a.all_bits(), by_b.all_bits());
}

// Transformers' cat(freqs, freqs) repeats a token's row; GPT-J's repeat_interleave repeats each
// value. A row of vLLM's cache has cos before sin, and the tokens start inside the cache.
TEST(CosSinRows, KeepTheBitsOfEngineTables) {
  constexpr std::int64_t before = 3;
  for (const Pairing pairing : test::order_keeping_pairings) {
    const Rotations own = own_rows(pairing);
    std::vector<float> all_twice[2];
    std::vector<float> each_twice[2];
    std::vector<float> cache(static_cast<std::size_t>(2 * pairs * before), 9.0F);
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (const int i : {0, 1}) {
        const auto row = i == 0 ? own.cos(0, t) : own.sin(0, t);
        for (int half = 0; half < 2; ++half)
          all_twice[i].insert(all_twice[i].end(), row.begin(), row.end());
        for (const float number : row) each_twice[i].insert(each_twice[i].end(), 2, number);
        cache.insert(cache.end(), row.begin(), row.end());
      }
    }
    const float* const first = cache.data() + 2 * pairs * before;
    CosSinView of_gpt_j = rows_at(each_twice[0].data(), each_twice[1].data());
    of_gpt_j.pair_stride = 2;
    for (const CosSinView& view : {rows_at(all_twice[0].data(), all_twice[1].data()),
                                   rows_at(first, first + pairs), of_gpt_j}) {
      const Rotations read = from(pairing, view);
      EXPECT_EQ(all_row_bits(read), all_row_bits(own));
      EXPECT_EQ(read.attention_factor(), factor);
      expect_rotates_alike(read, own);
    }
  }
}

// Another engine's float32 angles at a large position p. Rounding p * inv_freq moves an angle, and
// so the rotated pair, by half an ulp. Rounding inv_freq moves it by as much.
TEST(CosSinRows, RotateByTheFloat32AnglesTheyHold) {
  const HeadWindow window{
      .head_dim = 128, .rotary_dim = 128, .first_feature = 0, .pairing = Pairing::half};
  const Frequencies frequencies = test::frequencies_of(window);
  const ConsecutivePositions given{.first = 8'000, .tokens = 16};
  std::vector<float> cos;
  std::vector<float> sin;
  for (int t = 0; t < 16; ++t) {
    for (const double inv_freq : frequencies.inv_freq) {
      const float angle = static_cast<float>(8'000 + t) * static_cast<float>(inv_freq);
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  }
  const Rotations theirs = test::value_of(make_rotations(window, {.cos = cos.data(),
                                                                  .sin = sin.data(),
                                                                  .dtype = DType::f32,
                                                                  .tokens = 16,
                                                                  .token_stride = 64}));
  const Rotations own = test::rotations_of(frequencies, given);
  const test::Tensor src = test::random_tensor(
      {.dtype = DType::f32, .extents = {.tokens = 16, .heads = 2, .features = 128}}, 61);
  test::Tensor by_theirs = src;
  test::Tensor by_own = src;
  test::require(rotate(by_theirs.view(), src.view(), theirs));
  test::require(rotate(by_own.view(), src.view(), own));
  double farthest = 0;
  test::for_each_element(src.extents(), [&](const test::HeadIndex& at, std::int64_t feature) {
    const std::int64_t pair = feature % 64;
    const double angle = static_cast<double>(8'000 + at.token) *
                         frequencies.inv_freq[static_cast<std::size_t>(pair)];
    const double pair_norm = std::hypot(src.at(at, pair), src.at(at, pair + 64));
    const double difference = std::abs(by_theirs.at(at, feature) - by_own.at(at, feature));
    // Two roundings of the angle, then those of rows and products in both results.
    EXPECT_LE(difference, (2 * 0x1p-24 * angle + 0x1p-21) * pair_norm) << pair;
    farthest = std::max(farthest, difference / pair_norm);
  });
  EXPECT_GT(farthest, 0x1p-14);  // the rows hold the inexact angles
}

template <class Element>
CosSinView view_of(const std::vector<Element>& cos, const std::vector<Element>& sin, DType dtype) {
  return {.cos = cos.data(),
          .sin = sin.data(),
          .dtype = dtype,
          .tokens = tokens,
          .token_stride = pairs};
}

TEST(CosSinRows, WidenExactly) {
  const Rotations own = own_rows(Pairing::half);
  std::vector<float> cos;
  std::vector<float> sin;
  for (std::int64_t t = 0; t < tokens; ++t) {
    cos.insert(cos.end(), own.cos(0, t).begin(), own.cos(0, t).end());
    sin.insert(sin.end(), own.sin(0, t).begin(), own.sin(0, t).end());
  }
  EXPECT_EQ(all_row_bits(from(Pairing::half, view_of(cos, sin, DType::f32))), all_row_bits(own));
  const Rotations wide = from(Pairing::half, view_of(cos, sin, DType::f32), RowDType::f64);
  std::vector<std::uint16_t> upper_cos;  // bf16 by truncation: any rounding serves here
  std::vector<std::uint16_t> upper_sin;
  for (std::size_t i = 0; i < cos.size(); ++i) {
    upper_cos.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(cos[i]) >> 16));
    upper_sin.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(sin[i]) >> 16));
  }
  const Rotations upper = from(Pairing::half, view_of(upper_cos, upper_sin, DType::bf16));
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      EXPECT_EQ(wide.cos<double>(0, t)[i], own.cos(0, t)[i]);
      EXPECT_EQ(wide.sin<double>(0, t)[i], own.sin(0, t)[i]);
      const std::size_t at = static_cast<std::size_t>(t) * pairs + i;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(upper.cos(0, t)[i]),
                std::bit_cast<std::uint32_t>(cos[at]) & 0xFFFF0000);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(upper.sin(0, t)[i]),
                std::bit_cast<std::uint32_t>(sin[at]) & 0xFFFF0000);
    }
  }
}

// Every finite binary16 number as sin. cos is 1 beside small numbers and 0 beside others.
TEST(CosSinRows, WidenEveryBinary16) {
  const HeadWindow window{
      .head_dim = 2, .rotary_dim = 2, .first_feature = 0, .pairing = Pairing::half};
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto exponent = static_cast<int>((bits >> 10) & 31);
    const auto fraction = static_cast<float>(bits & 1023);
    if (exponent == 31) continue;
    const float magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    const bool small = magnitude < 0.125F;
    const std::uint16_t cos = small ? 0x3C00 : 0;
    const auto sin = static_cast<std::uint16_t>(bits);
    const Rotations rows =
        test::value_of(make_rotations(window, {.cos = &cos,
                                               .sin = &sin,
                                               .dtype = DType::f16,
                                               .tokens = 1,
                                               .attention_factor = small ? 1 : magnitude}));
    const float wanted = bits >= 0x8000 ? -magnitude : magnitude;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rows.sin(0, 0)[0]), std::bit_cast<std::uint32_t>(wanted))
        << std::hex << bits;
    ASSERT_EQ(rows.cos(0, 0)[0], small ? 1.0F : 0.0F);
  }
}

// Doubles become float32 by one rounding, ties to even. Signed zeros and subnormals are kept.
TEST(CosSinRows, RoundOnceToNearestEven) {
  const HeadWindow window{
      .head_dim = 8, .rotary_dim = 8, .first_feature = 0, .pairing = Pairing::half};
  const std::vector<double> cos = {1 + 0x1p-24, 1 + 0x1.8p-23, 1 + 0x1.000001p-24, 1 - 0x1p-25};
  const std::vector<double> sin = {-0.0, 0x1p-149, 0x1.8p-149, -0x1p-151};
  const CosSinView view{.cos = cos.data(), .sin = sin.data(), .dtype = DType::f64, .tokens = 1};
  const Rotations narrow = test::value_of(make_rotations(window, view));
  const std::vector<float> wanted_cos = {1, 1 + 0x1p-22F, 1 + 0x1p-23F, 1};
  const std::vector<float> wanted_sin = {-0.0F, 0x1p-149F, 0x1p-148F, -0.0F};
  const Rotations same = test::value_of(make_rotations(window, view, {.rows = RowDType::f64}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(narrow.cos(0, 0)[i], wanted_cos[i]);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(narrow.sin(0, 0)[i]),
              std::bit_cast<std::uint32_t>(wanted_sin[i]));
    EXPECT_EQ(same.cos<double>(0, 0)[i], cos[i]);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(same.sin<double>(0, 0)[i]),
              std::bit_cast<std::uint64_t>(sin[i]));
  }
}

// [2 batch rows][5 tokens][pairs], with every axis reversed and with gaps.
TEST(CosSinRows, ReadAnyStrides) {
  constexpr std::int64_t token_stride = 2 * pairs + 1;
  constexpr std::int64_t batch_stride = tokens * token_stride + 4;
  std::vector<double> cos(2 * batch_stride, std::numeric_limits<double>::quiet_NaN());
  std::vector<double> sin = cos;
  const auto at = [](std::int64_t b, std::int64_t t, std::int64_t i) {
    return static_cast<std::size_t>((1 - b) * batch_stride + (tokens - 1 - t) * token_stride +
                                    (pairs - 1 - i) * 2);
  };
  const auto angle = [](std::int64_t b, std::int64_t t, std::int64_t i) {
    return static_cast<double>(100 * b + 10 * t + i);
  };
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        cos[at(b, t, i)] = factor * std::cos(angle(b, t, i));
        sin[at(b, t, i)] = factor * std::sin(angle(b, t, i));
      }
    }
  }
  const CosSinView view{.cos = &cos[at(0, 0, 0)],
                        .sin = &sin[at(0, 0, 0)],
                        .dtype = DType::f64,
                        .batch = 2,
                        .tokens = tokens,
                        .batch_stride = -batch_stride,
                        .token_stride = -token_stride,
                        .pair_stride = -2};
  const Rotations read = from(Pairing::half, view, RowDType::f64);
  ASSERT_EQ(read.batch(), 2);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto pair = static_cast<std::size_t>(i);
      for (std::int64_t b = 0; b < 2; ++b) {
        EXPECT_EQ(read.cos<double>(b, t)[pair], factor * std::cos(angle(b, t, i)));
        EXPECT_EQ(read.sin<double>(b, t)[pair], factor * std::sin(angle(b, t, i)));
      }
    }
  }
}

TEST(CosSinRows, HaveThePaddingOfComputedRows) {
  const Rotations own = own_rows(Pairing::half);
  ASSERT_GT(own.lane_stride(), pairs);
  const Rotations read = from(
      Pairing::half, rows_at(own.cos(0, 0).data(), own.sin(0, 0).data(), 2 * own.lane_stride()));
  const auto bytes = static_cast<std::size_t>(tokens * 2 * own.lane_stride()) * sizeof(float);
  EXPECT_TRUE(std::equal(own.data(), own.data() + bytes, read.data()));
}

}  // namespace
}  // namespace rotary
