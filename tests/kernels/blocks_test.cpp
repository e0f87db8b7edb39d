// SPDX-License-Identifier: Apache-2.0
// Tests rotate(), append() and attention on heads split into blocks, each rotated in halves.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "support/attention/attended.hpp"
#include "support/attention/linear.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

Frequencies made_of(const RotarySpec& spec) { return test::value_of(make_frequencies(spec)); }

RotarySpec spec_of(std::int64_t head_dim, Axes axes) {
  return {.head_dim = head_dim, .base = 10000.0, .pairing = Pairing::half, .axes = std::move(axes)};
}

// [2 axes][2 batch rows][3 tokens].
constexpr std::array<double, 12> ids = {0, 1, 2.5, -3, 4096, 0.1, 7, 131071, -0.25, 9, 10, 0x1p40};

test::Tensor random_heads(const HeadWindow& window, std::int64_t tokens, DType dtype) {
  return test::random_tensor(
      {.dtype = dtype,
       .extents = {.batch = 2, .tokens = tokens, .heads = 3, .features = window.head_dim}},
      37);
}

// Gemma 4's vision tower has two blocks in a head. The other spec is a partial rotation.
std::vector<RotarySpec> blocked_specs() {
  RotarySpec gemma = spec_of(144, {.pairs = {36, 36}, .exponents = AxisExponents::own});
  gemma.blocks = 2;
  RotarySpec partial = spec_of(50, {.pairs = {7, 14}, .exponents = AxisExponents::own});
  partial.rotary_dim = 42;
  partial.first_feature = 3;
  partial.blocks = 3;
  return {gemma, partial};
}

TEST(Blocks, RotateWithinTheBound) {
  for (const RotarySpec& spec : blocked_specs()) {
    const Frequencies frequencies = made_of(spec);
    const Positions positions = positions_of(ids, 2, 2);
    const test::Oracle oracle(frequencies, positions);
    for (const DType dtype : test::all_dtypes) {
      const Rotations rotations = test::rotations_of(frequencies, positions, test::rows_for(dtype));
      for (const Direction direction : test::all_directions) {
        const test::Tensor src = random_heads(frequencies.window, 3, dtype);
        test::Tensor dst = src;
        test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
        EXPECT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
        test::Tensor in_place = src;
        test::require(
            rotate(in_place.view(), in_place.view(), rotations, {.direction = direction}));
        EXPECT_EQ(in_place.all_bits(), dst.all_bits());
      }
    }
  }
}

TEST(Blocks, HaveTheSameBitsInEveryLayout) {
  for (const RotarySpec& spec : blocked_specs()) {
    const Frequencies frequencies = made_of(spec);
    const Rotations rotations = test::rotations_of(frequencies, positions_of(ids, 2, 2));
    const test::Tensor src = random_heads(frequencies.window, 3, DType::f32);
    test::Tensor wanted = src;
    test::require(rotate(wanted.view(), src.view(), rotations));
    for (const test::Layout layout : test::all_layouts) {
      test::Tensor moved = moved_to(layout, src);
      test::require(rotate(moved.view(), src.view(), rotations));
      EXPECT_EQ(moved.all_bits(), wanted.all_bits()) << to_string(layout);
    }
  }
}

// The cache has the dtype of the keys, or a narrower one.
TEST(Blocks, AppendStoresRotatedBlocks) {
  for (const RotarySpec& spec : blocked_specs()) {
    const Frequencies frequencies = made_of(spec);
    const Rotations rotations = test::rotations_of(frequencies, positions_of(ids, 2, 2));
    const test::Tensor keys = random_heads(frequencies.window, 3, DType::f32);
    test::Tensor wanted = keys;
    test::require(rotate(wanted.view(), keys.view(), rotations));
    for (const DType dtype : {DType::f32, DType::bf16}) {
      test::Tensor cache = random_heads(frequencies.window, 3, dtype);
      test::require(append({.k = cache.view()}, {.k = keys.view()}, ConsecutiveSlots{},
                           {.rotations = &rotations}));
      const double unit = dtype == DType::f32 ? 0 : 0x1p-8;
      test::for_each_element(keys.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
        EXPECT_NEAR(cache.at(at, f), wanted.at(at, f), unit * std::abs(wanted.at(at, f)));
      });
    }
  }
}

// Full and partial vectors in each block; unrotated features before and after.
std::vector<HeadWindow> blocked_windows() {
  return {{.head_dim = 72, .rotary_dim = 72, .pairing = Pairing::half, .blocks = 2},
          {.head_dim = 50,
           .rotary_dim = 42,
           .first_feature = 3,
           .pairing = Pairing::half,
           .blocks = 3}};
}

// Prefill and decode read keys differently.
TEST(Blocks, RotateInsideAttentionWithinTheBound) {
  for (const HeadWindow& window : blocked_windows()) {
    const reference::Rotary rotary{.window = window,
                                   .inv_freq = test::frequencies_of(window).inv_freq};
    for (const std::int64_t queries : {1, 19}) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        SCOPED_TRACE(std::string(to_string(dtype)) + " " + std::to_string(queries));
        test::AttendCase of{.shape = {.batch = 2,
                                      .queries = queries,
                                      .keys = 90,
                                      .features = window.head_dim,
                                      .value_features = 9},
                            .encoding = {.rotary = rotary},
                            .q = {.dtype = dtype},
                            .k = {.dtype = dtype},
                            .v = {.dtype = dtype},
                            .out = {.dtype = dtype}};
        EXPECT_TRUE(test::is_right(of));
        if (dtype == DType::f32) continue;
        of.map = ReRope{40};
        EXPECT_TRUE(test::is_right(of));
      }
    }
  }
}

TEST(Blocks, RotateInsideLinearAttentionWithinTheBound) {
  const HeadWindow window{.head_dim = 12, .rotary_dim = 12, .pairing = Pairing::half, .blocks = 3};
  for (const DType dtype : test::all_dtypes) {
    const test::LinearCase of{.map = EluPlusOne{}, .window = window, .first_position = 1000};
    const test::Qkv qkv = test::random_qkv(
        {.dtype = dtype, .batch = 2, .tokens = 40, .heads = 2, .key_heads = 2, .head_dim = 12}, 5);
    EXPECT_TRUE(test::is_linear_attention(test::attended(of, qkv), 0, of, qkv));
  }
}

}  // namespace
}  // namespace rotary
