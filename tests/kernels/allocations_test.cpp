// SPDX-License-Identifier: Apache-2.0
// The calls of a decode step allocate nothing, and neither do calls that compute in the caller's
// memory. support/counted_new.cpp counts allocations.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rotary/rotary.hpp"
#include "support/cases.hpp"
#include "support/counted_new.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

// The number of allocations of one call, which must succeed.
template <class Call>
std::size_t allocations_of(Call call) {
  const std::size_t before = test::allocation_count();
  const bool ok = static_cast<bool>(call());
  const std::size_t after = test::allocation_count();
  EXPECT_TRUE(ok);
  return after - before;
}

template <class Call>
bool allocates_nothing(Call call) {
  return allocations_of(call) == 0;
}

TEST(Allocations, AreCounted) {
  EXPECT_GT(allocations_of([] {
              return test::random_tensor({.extents = {.tokens = 1, .heads = 1, .features = 2}}, 40)
                  .guards_intact();
            }),
            0U);
}

TEST(Allocations, TheDecodeStepAllocatesNothing) {
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = pairing};
    const Frequencies frequencies = test::frequencies_of(window, 1.25);
    for (const DType dtype : test::all_dtypes) {
      Rotations rotations = test::rotations_of(
          frequencies, ConsecutivePositions{.first = 0, .tokens = 4}, test::rows_for(dtype));
      EXPECT_TRUE(allocates_nothing([&] {
        return remake_rotations(rotations, frequencies,
                                ConsecutivePositions{.first = 9, .tokens = 3});
      }));
      for (const Layout layout : test::all_layouts) {
        SCOPED_TRACE(to_string(layout));
        const Extents extents{.tokens = 3, .heads = 5, .features = 50};
        Tensor q = moved_to(layout, test::random_tensor({.dtype = dtype, .extents = extents}, 38));
        Tensor k = moved_to(layout, test::random_tensor({.dtype = dtype, .extents = extents}, 39));
        EXPECT_TRUE(allocates_nothing([&] { return rotate_qk(q.view(), k.view(), rotations); }));
        EXPECT_TRUE(allocates_nothing([&] { return rotate(q.view(), k.view(), rotations); }));
      }
    }
  }
}

TEST(Allocations, NumericsOfEnginesAllocateNothing) {
  for (const Numerics numerics : {Numerics::transformers, Numerics::ggml}) {
    const Frequencies frequencies =
        test::value_of(make_frequencies({.head_dim = 50,
                                         .base = 10000.0,
                                         .pairing = Pairing::half,
                                         .scaling = LinearScaling{.factor = 4},
                                         .numerics = numerics}));
    const ConsecutivePositions positions{.first = 9, .tokens = 3};
    Rotations rotations =
        test::value_of(make_rotations(frequencies, positions, {.tensors = DType::bf16}));
    EXPECT_TRUE(
        allocates_nothing([&] { return remake_rotations(rotations, frequencies, positions); }));
    Tensor q = test::random_tensor(
        {.dtype = DType::bf16, .extents = {.tokens = 3, .heads = 5, .features = 50}}, 41);
    EXPECT_TRUE(allocates_nothing([&] { return rotate(q.view(), q.view(), rotations); }));
  }
}

// Remakes the rotations of a shift with no more rows than before, and shifts float and 8-bit keys.
TEST(Allocations, AShiftAllocatesNothing) {
  const HeadWindow window{.head_dim = 50,
                          .rotary_dim = 42,
                          .first_feature = 3,
                          .pairing = Pairing::interleaved_to_half};
  const Frequencies old_ones = test::frequencies_of(window);
  std::vector<double> slower = old_ones.inv_freq;
  for (double& inv_freq : slower) inv_freq /= 4;
  const Frequencies new_ones = test::value_of(make_frequencies(window, slower, 1.25));
  const std::vector<double> places = {0.5, 7, 8};
  const RotatedAt from{old_ones, positions_of(places)};
  const RotatedAt to{new_ones, ConsecutivePositions{.first = 9, .tokens = 3}};
  Rotations by = test::value_of(make_shift(from, to));
  EXPECT_TRUE(allocates_nothing([&] { return remake_shift(by, to, from); }));
  const Extents extents{.tokens = 3, .heads = 5, .features = 50};
  Tensor keys = test::random_tensor({.dtype = DType::bf16, .extents = extents}, 42);
  EXPECT_TRUE(allocates_nothing([&] { return shift(keys.view(), by); }));
  std::vector<std::int8_t> elements(3 * 5 * 50, 3);
  std::vector<float> scales(3 * 5, 1);
  const QuantizedHeadsView quantized{.data = elements.data(),
                                     .scales = scales.data(),
                                     .extents = extents,
                                     .strides = strides_bthd(extents),
                                     .scale_strides = {.token = 5, .head = 1}};
  EXPECT_TRUE(allocates_nothing([&] { return shift(quantized, by); }));
}

TEST(Allocations, PositionsOfALimitedContextAllocateNothing) {
  constexpr HeadWindow window{
      .head_dim = 50, .rotary_dim = 50, .first_feature = 0, .pairing = Pairing::half};
  Frequencies frequencies = test::frequencies_of(window);
  frequencies.contexts.last = 4096;
  const std::vector<double> positions = {1, 2.5, 4095};
  Rotations rotations = test::rotations_of(frequencies, positions_of(positions));
  EXPECT_TRUE(allocates_nothing(
      [&] { return remake_rotations(rotations, frequencies, positions_of(positions)); }));
}

// The head is longer than the buffer of permute_in_place.cpp.
TEST(Allocations, ReorderingALongHeadAllocatesNothing) {
  const HeadWindow window{.head_dim = 3000,
                          .rotary_dim = 3000,
                          .first_feature = 0,
                          .pairing = Pairing::interleaved_to_half};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window),
                                                 ConsecutivePositions{.first = 0, .tokens = 2});
  Tensor q = test::random_tensor({.extents = {.tokens = 2, .heads = 2, .features = 3000}}, 41);
  for (const Direction direction : test::all_directions) {
    EXPECT_TRUE(allocates_nothing(
        [&] { return rotate(q.view(), q.view(), rotations, {.direction = direction}); }));
  }
}

// The slot map has more tokens than its check keeps in a hash table.
TEST(Allocations, AppendAllocatesNothing) {
  const HeadWindow window{
      .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = Pairing::half};
  const Extents extents{.tokens = 1100, .heads = 3, .features = 50};
  const Rotations rotations =
      test::rotations_of(test::frequencies_of(window), ConsecutivePositions{.tokens = 1100});
  const Tensor k = test::random_tensor({.extents = extents}, 42);
  Tensor k_cache({.dtype = DType::f16, .extents = extents, .layout = Layout::bhtd});
  Tensor v_cache({.dtype = DType::bf16, .extents = extents});
  const KvCache cache{k_cache.view(), v_cache.view()};
  const KvHeads heads{k.view(), k.view()};
  std::vector<std::int32_t> slots;
  for (std::int32_t i = 1100; i-- > 0;) slots.push_back(i);
  const HeadNorm norm{.epsilon = 1e-6, .over = NormOver::all_heads};
  for (const NormOrder order : {NormOrder::before_rotation, NormOrder::after_rotation}) {
    EXPECT_TRUE(allocates_nothing([&] {
      return append(cache, heads, slots_of(slots),
                    {.rotations = &rotations, .k_norm = KeyNorm{norm, order}});
    }));
  }
  EXPECT_TRUE(allocates_nothing(
      [&] { return append(cache, heads, ConsecutiveSlots{}, {.rotations = &rotations}); }));
  EXPECT_TRUE(allocates_nothing([&] { return append(cache, heads, ConsecutiveSlots{}); }));
  Tensor q = k;
  EXPECT_TRUE(allocates_nothing([&] { return normalize_heads(q.view(), q.view(), norm); }));
}

// Tests every feature map, with a state and in the caller's memory.
TEST(Allocations, LinearAttentionAllocatesNothing) {
  const std::vector<float> directions =
      test::value_of(make_random_features({.head_dim = 50, .features = 50}));
  const Rotations rotations = test::rotations_of(
      test::frequencies_of({.head_dim = 50, .rotary_dim = 50, .pairing = Pairing::interleaved}),
      ConsecutivePositions{.tokens = 70});
  const Extents extents{.tokens = 70, .heads = 2, .features = 50};
  const Tensor q = test::random_tensor({.dtype = DType::f16, .extents = extents}, 44);
  Tensor out({.dtype = DType::f16, .extents = extents});
  std::vector<double> values(2 * 50 * 50);
  std::vector<double> keys(2 * 50);
  std::vector<double> exponents(2);
  std::vector<std::byte> memory(1 << 20);
  const std::size_t off = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  for (const FeatureMap& map : {FeatureMap(EluPlusOne{}), FeatureMap(SoftmaxExp{}),
                                FeatureMap(PositiveRandomFeatures{directions, 0.125})}) {
    LinearAttentionOptions options{.mask = LinearMask::causal,
                                   .state = LinearState{values, keys, exponents},
                                   .memory = std::span(memory).subspan(64 - off)};
    options.rotations.emplace(NumeratorRotations{rotations, rotations});
    EXPECT_TRUE(allocates_nothing([&] {
      return linear_attend(out.view(), {q.view(), q.view(), q.view()}, map, options);
    }));
  }
}

TEST(Allocations, RowsInTheCallersMemoryAllocateNothing) {
  const HeadWindow window{
      .head_dim = 160, .rotary_dim = 160, .first_feature = 0, .pairing = Pairing::half};
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  const std::vector<double> doubles = {0.5, 7, 8, 8.25, -1e9, 1e9 + 0.5};
  const std::vector<std::int32_t> integers = {5, 6, 7, 0, 1, 2};
  for (const RowDType rows : {RowDType::f32, RowDType::f64}) {
    const std::size_t bytes = test::value_of(row_bytes(window, 2, 3, rows));
    std::vector<std::byte> memory(bytes);
    std::vector<std::byte> copy(bytes);
    for (const Positions& positions : {Positions(positions_of(std::span(doubles), 2)),
                                       Positions(positions_of(std::span(integers), 2)),
                                       Positions(ConsecutivePositions{.first = -7, .tokens = 6})}) {
      EXPECT_TRUE(allocates_nothing([&] {
        return make_rotations(frequencies, positions, {.rows = rows, .memory = memory});
      }));
      Rotations own = test::rotations_of(frequencies, positions, rows);
      EXPECT_TRUE(allocates_nothing([&] { return remake_rotations(own, frequencies, positions); }));
    }
    Frequencies xpos = frequencies;
    xpos.xpos = Xpos{.center = 8};
    const std::vector<double> near = {0.5, 7, 8, 8.25, -900, 900.5};
    EXPECT_TRUE(allocates_nothing([&] {
      return make_rotations(xpos, positions_of(std::span(near), 2),
                            {.rows = rows, .role = Role::key, .memory = memory});
    }));
    const Rotations own = test::rotations_of(frequencies, positions_of(std::span(doubles)), rows);
    const bool wide = rows == RowDType::f64;
    const CosSinView view{.cos = own.data(),
                          .sin = own.data() + own.lane_stride() * (wide ? 8 : 4),
                          .dtype = wide ? DType::f64 : DType::f32,
                          .tokens = own.tokens(),
                          .token_stride = 2 * own.lane_stride(),
                          .attention_factor = own.attention_factor()};
    EXPECT_TRUE(allocates_nothing(
        [&] { return make_rotations(window, view, {.rows = rows, .memory = copy}); }));
  }
}

TEST(Allocations, AbsoluteEncodingsAllocateNothing) {
  const auto sinusoidal = test::value_of(make_sinusoidal(fairseq_sinusoidal(50, 1)));
  const std::vector<std::int64_t> ids = {4, 0, 2};
  const TokenExtents n{.tokens = 3, .features = 50};
  for (const DType dtype : test::all_dtypes) {
    Tensor x = test::random_tensor(test::tokens_shape(dtype, n, Layout::padded), 41);
    Tensor y = test::random_tensor(test::tokens_shape(dtype, n), 42);
    Tensor table =
        test::random_tensor(test::tokens_shape(dtype, {.tokens = 9, .features = 50}), 43);
    Tensor gradient(test::tokens_shape(DType::f64, {.tokens = 9, .features = 50}));
    const TokensView view = test::tokens_of(x);
    const TokensView other = test::tokens_of(y);
    const Positions positions = positions_of(ids);
    const Lookup lookup{.table = test::table_of(table), .rows = {.indices = positions}};
    const std::vector<Lookup> lookups(12, lookup);
    const LinearInterpolation linear{.kept_rows = 1};
    EXPECT_TRUE(allocates_nothing([&] { return fill_sinusoidal(view, sinusoidal, positions); }));
    EXPECT_TRUE(
        allocates_nothing([&] { return add_sinusoidal(view, other, sinusoidal, positions); }));
    EXPECT_TRUE(
        allocates_nothing([&] { return shift_sinusoidal(view, other, sinusoidal, positions); }));
    EXPECT_TRUE(allocates_nothing([&] { return add_learned(view, other, lookup); }));
    EXPECT_TRUE(allocates_nothing([&] { return sum_embeddings(view, lookups); }));
    EXPECT_TRUE(allocates_nothing(
        [&] { return add_table_gradient(test::table_of(gradient), lookup.rows, view); }));
    EXPECT_TRUE(allocates_nothing(
        [&] { return interpolate_table(test::table_of(x), test::table_of(table), linear); }));
    EXPECT_TRUE(allocates_nothing([&] {
      return add_interpolation_gradient(test::table_of(gradient), test::table_of(x), linear);
    }));
  }
}

// Leaves out FIRE and Sandwich, which allocate their tables.
TEST(Allocations, AttentionWithoutFireOrSandwichAllocatesNothing) {
  const Extents n{.batch = 2, .tokens = 20, .heads = 4, .features = 50};
  const Tensor q = test::random_tensor({.extents = n}, 44);
  const Tensor k = test::random_tensor({.dtype = DType::f16, .extents = n}, 45);
  Tensor out({.extents = n});
  const HeadWindow window{.head_dim = 50, .rotary_dim = 42, .pairing = Pairing::half};
  const Rotations rotations =
      test::rotations_of(test::frequencies_of(window), ConsecutivePositions{.tokens = 20});
  const std::vector<double> table(8 * 4, 0.5);
  const std::vector<double> numbers(4, 1);
  const std::vector<RelativeBias> biases = {
      T5Bias{.buckets = {.buckets = 8, .max_distance = 20, .direction = T5Direction::causal},
             .table = {.data = table.data(),
                       .dtype = DType::f64,
                       .rows = 8,
                       .features = 4,
                       .row_stride = 4}},
      Alibi{.heads = 4}, Alibi{.heads = 4, .form = AlibiForm::key_position, .slopes = numbers},
      KerpleLog{.p = numbers, .a = numbers}, KerplePower{.a = numbers, .p = numbers}};
  std::vector<float> sums(2 * 4 * 20);
  const ScoresExtents rows{.batch = 2, .heads = 4, .queries = 20, .keys = 1};
  AttendOptions options{
      .scale = 0.1,
      .mask = {.order = AttentionOrder::causal},
      .encoding = {.q_rotations = &rotations, .k_rotations = &rotations},
      .log_sum_exp = ScoresView{sums.data(), DType::f32, rows, strides_bhqk(rows)}};
  alignas(64) static std::array<std::byte, std::size_t{1} << 21> memory;
  options.memory = memory;
  const auto expect_none = [&] {
    EXPECT_TRUE(allocates_nothing(
        [&] { return attend(out.view(), q.view(), k.view(), k.view(), options); }));
    EXPECT_TRUE(
        allocates_nothing([&] { return attend_bytes(q.view(), k.view(), k.view(), options); }));
  };
  expect_none();
  for (const RelativeBias& bias : biases) {
    options.encoding.bias = &bias;
    expect_none();
  }
  const std::vector<double> vectors(7 * 50, 0.5);
  const ConstTableView of_distances{vectors.data(), DType::f64, 7, 50, 50, 1};
  const ShawTable shaw{{.left = 3, .right = 3}, of_distances};
  std::vector<float> weights(2 * 4 * 20 * 20);
  const ScoresExtents all{.batch = 2, .heads = 4, .queries = 20, .keys = 20};
  options.encoding = {.shaw_keys = &shaw, .shaw_values = &shaw};
  options.weights = ScoresView{weights.data(), DType::f32, all, strides_bhqk(all)};
  expect_none();
  options.weights = {};
  const std::vector<AttentionSequence> sequences = {{0, 0, 3, 0, 20, 17, 0}, {1, 0, 1, 0, 9, 8, 0}};
  const std::vector<std::int32_t> blocks = {1, 0};
  options.sequences = sequences;
  options.encoding = {};
  const PagedKeys pages{.k = k.view(), .v = k.view(), .table = {blocks.data(), 2, 1, 1}};
  EXPECT_TRUE(allocates_nothing([&] { return attend(out.view(), q.view(), pages, options); }));
}

}  // namespace
}  // namespace rotary
