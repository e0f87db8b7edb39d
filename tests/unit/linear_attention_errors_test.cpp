// SPDX-License-Identifier: Apache-2.0
// Errors of linear_attend and make_random_features state the requirement and the value. They leave
// `out` and `state` unchanged. Also tests the statistics and bits of random features.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "support/attention/linear.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Qkv;
using test::Tensor;

// A valid call. Tests change one thing about it.
struct Call {
  Qkv qkv = test::random_qkv(
      {.batch = 2, .tokens = 5, .heads = 4, .key_heads = 2, .head_dim = 6, .v_features = 3}, 300);
  Tensor out_tensor = test::out_for(qkv);
  std::vector<double> values = std::vector<double>(2 * 2 * 6 * 3, 0.5);
  std::vector<double> keys = std::vector<double>(2 * 2 * 6, 0.5);
  std::vector<double> exponents = std::vector<double>(2 * 2);
  Rotations rotations = test::rotations_of(
      test::frequencies_of({.head_dim = 6, .rotary_dim = 6, .pairing = Pairing::half}),
      ConsecutivePositions{.tokens = 5});

  HeadsView out = out_tensor.view();
  LinearHeads heads = qkv.heads();
  FeatureMap map = EluPlusOne{};
  LinearAttentionOptions options{.mask = LinearMask::causal,
                                 .state = LinearState{values, keys, exponents}};

  [[nodiscard]] auto written() const { return std::tuple(out_tensor.bytes(), values, keys); }
  [[nodiscard]] Status run() const { return linear_attend(out, heads, map, options); }
};

using LinearAttentionErrors = test::Refusals<Call>;

TEST_F(LinearAttentionErrors, AValidCallIsAccepted) {
  test::require(c.run());
  EXPECT_NE(c.values[0], 0.5);
}

TEST_F(LinearAttentionErrors, InvalidOptionsAreRefused) {
  refuse(c.options.mask = {}, {"mask must be", "got value 0"});
  for (const double epsilon : {-1e-6, std::nan(""), std::numeric_limits<double>::infinity()}) {
    refuse(c.options.epsilon = epsilon, {"epsilon", "got"});
  }
  alignas(64) std::array<std::byte, 256> memory{};
  refuse(c.options.memory = memory, {"memory must hold", "linear_attend_bytes", "got 256"});
  std::vector<std::byte> large(1 << 20);
  const auto off = reinterpret_cast<std::uintptr_t>(large.data()) % 64;
  refuse(c.options.memory = std::span(large).subspan(64 - off + 8),
         {"aligned to 64", "got an address 8 bytes off"});
}

TEST_F(LinearAttentionErrors, InvalidViewsAreRefused) {
  refuse(c.heads.q.dtype = {}, {"q: dtype", "got value 0"});
  refuse(c.heads.v.data = nullptr, {"v: data must not be null"});
  refuse(c.heads.k.strides.feature = 2, {"k: features", "adjacent"});
  refuse(c.heads.k.extents.batch = -1, {"k: extents must be >= 0"});
  refuse(c.heads.v.dtype = DType::f16, {"same dtype", "got f32", "of v, f16"});
  refuse(c.out.dtype = DType::bf16, {"same dtype", "of out, bf16"});
  refuse(c.heads.v.extents.tokens = 4, {"k and v must have the same batch, tokens and heads"});
  refuse(c.heads.q.extents.features = 5, {"q and k must have the same batch and features"});
  refuse(c.heads.q.extents.heads = 3, {"multiple", "got 3 and 2"});
  refuse(c.heads.q.extents.tokens = 4, {"same tokens in causal", "got 4 and 5"});
  refuse(c.out.extents.features = 2,
         {"out must have the extents of q", "features 3; got", "features 2"});
  refuse(c.out.strides.token = 0, {"out: elements", "distinct"});
  const Extents huge{.batch = 2, .tokens = 5, .heads = 2, .features = std::int64_t{1} << 40};
  c.heads.v.extents = huge;
  refuse(c.heads.v.strides = {.feature = 1},
         {"v: features must be at most 65536", "got 1099511627776"});
  c.options.mask = LinearMask::bidirectional;
  for (ConstHeadsView* const view : {&c.heads.k, &c.heads.v}) {
    view->extents.tokens = (std::int64_t{1} << 31) + 1;
    view->strides.token = 0;
  }
  refuse(c, {"at most 2147483648 keys can be attended to", "got 2147483649"});
}

TEST_F(LinearAttentionErrors, InvalidFeatureMapsAreRefused) {
  const auto random = [](std::size_t count, double scale) {
    static const std::vector<float> numbers(100, 1.0F);
    return PositiveRandomFeatures{std::span(numbers).first(count), scale};
  };
  for (const double scale : {0.0, -1.0, std::nan("")}) {
    refuse(c.map = random(12, scale), {"softmax_scale", "> 0"});
  }
  for (const std::size_t count : {0U, 5U, 13U}) {
    refuse(c.map = random(count, 1), {"[head_dim][features]", "for a head_dim of 6"});
  }
}

TEST_F(LinearAttentionErrors, InvalidRotationsAreRefused) {
  const auto rotations_of = [](const HeadWindow& window, double factor, RowDType rows,
                               std::int64_t tokens) {
    return test::rotations_of(test::frequencies_of(window, factor),
                              ConsecutivePositions{.tokens = tokens}, rows);
  };
  const auto with = [&](const Rotations& made, test::Parts parts) {
    refuse(c.options.rotations.emplace(NumeratorRotations{made, c.rotations}), parts);
    refuse(c.options.rotations.emplace(NumeratorRotations{c.rotations, made}), parts);
  };
  const HeadWindow fits{.head_dim = 6, .rotary_dim = 6, .pairing = Pairing::half};
  const HeadWindow other_head{.head_dim = 8, .rotary_dim = 6, .pairing = Pairing::half};
  const HeadWindow other_pairs{.head_dim = 6, .rotary_dim = 6, .pairing = Pairing::interleaved};
  with(rotations_of(other_head, 1, RowDType::f32, 5), {"mapped", "head_dim of the rotations, 8"});
  with(rotations_of(other_pairs, 1, RowDType::f32, 5), {"same features in the same pairs"});
  with(rotations_of(fits, 1.25, RowDType::f32, 5), {"attention_factor of 1", "got 1.25"});
  with(rotations_of(fits, 1, RowDType::f64, 5), {"f32 rows", "got f64 rows"});
  with(rotations_of(fits, 1, RowDType::f32, 6), {"tokens must be those of the rotations, 6"});
  Frequencies xpos = test::frequencies_of(fits);
  xpos.xpos = Xpos{};
  const Rotations of_key =
      test::value_of(make_rotations(xpos, ConsecutivePositions{.tokens = 5}, {.role = Role::key}));
  refuse(c.options.rotations.emplace(NumeratorRotations{c.rotations, of_key}),
         {"no role", "xPos", "key"});
  const Rotations of_bf16 = test::value_of(make_rotations(
      test::frequencies_of(fits), ConsecutivePositions{.tokens = 5}, {.tensors = DType::bf16}));
  refuse(c.options.rotations.emplace(NumeratorRotations{of_bf16, c.rotations}),
         {"features in f32", "rotations for bf16"});
}

TEST_F(LinearAttentionErrors, InvalidSegmentsAndStatesAreRefused) {
  static const std::array<std::int32_t, 12> numbers{};
  refuse(c.options.segments = SegmentMap{.data = numbers.data(), .tokens = 4},
         {"segments", "5 and 2; got 4 and 1"});
  refuse(c.options.segments = SegmentMap{.data = numbers.data(), .batch = 3, .tokens = 5},
         {"segments", "got 5 and 3"});
  refuse(c.options.segments = SegmentMap{.tokens = 5}, {"segments: data must not be null"});
  refuse(c.options.state->values = c.options.state->values.first(71),
         {"state.values: must hold", "2 x 2 x 6 x 3", "got 71"});
  refuse(c.options.state->keys = {}, {"state.keys", "2 x 2 x 6 x 1", "got 0"});
  refuse(c.options.state->exponents = {}, {"state.exponents", "2 x 2 x 1 x 1", "got 0"});
  refuse(c.options.state->keys = c.options.state->values.first(24),
         {"state.values and state.keys must share no element"});
}

TEST_F(LinearAttentionErrors, OverlappingMemoryIsRefused) {
  c.out.data = c.qkv.v.view().data;
  c.out.strides = strides_bthd(c.out.extents);
  refuse(c.out.extents.tokens = 5, {"out and v must share no element"});
  refuse(c.out.data = c.values.data(), {"out and state.values must share no element"});
  std::vector<std::byte> memory(1 << 20);
  const auto off = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  c.options.memory = std::span(memory).subspan(64 - off);
  refuse(c.heads.k.data = c.options.memory.data() + 4096, {"memory and k must share no element"});
  alignas(64) std::array<std::byte, 1024> rows{};
  const Rotations rotations = test::value_of(make_rotations(
      test::frequencies_of({.head_dim = 6, .rotary_dim = 6, .pairing = Pairing::half}),
      ConsecutivePositions{.tokens = 5}, {.memory = rows}));
  c.options.rotations.emplace(NumeratorRotations{c.rotations, rotations});
  refuse(c.out.data = rows.data(), {"out and the rotations of k must share no element"});
}

// If one extent is 0, the others may be arbitrarily large.
TEST_F(LinearAttentionErrors, CallsWithoutElementsSucceed) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  const Extents none{.batch = many, .tokens = 0, .heads = many, .features = 6};
  const ConstHeadsView view{.dtype = DType::f32, .extents = none};
  const HeadsView out{.dtype = DType::f32, .extents = none};
  const LinearAttentionOptions options{.mask = LinearMask::causal};
  test::require(linear_attend(out, {view, view, view}, EluPlusOne{}, options));
  EXPECT_EQ(test::value_of(linear_attend_bytes({view, view, view}, EluPlusOne{}, options)), 0U);
  // A query without features gives every key weight 0.
  std::array<float, 3> row = {1, 2, 3};
  const HeadsView zeros{.data = row.data(), .dtype = DType::f32, .extents = {1, 1, 1, 3}};
  const ConstHeadsView no_features{.dtype = DType::f32, .extents = {1, 1, 1, 0}};
  const ConstHeadsView no_keys{.dtype = DType::f32, .extents = {1, many, 1, 0}};
  const ConstHeadsView values{.data = row.data(), .dtype = DType::f32, .extents = {1, many, 1, 3}};
  std::array<float, 3> out_row = {1, 2, 3};
  HeadsView out_of_one = zeros;
  out_of_one.data = out_row.data();
  test::require(linear_attend(out_of_one, {no_features, no_keys, values}, EluPlusOne{},
                              {.mask = LinearMask::bidirectional}));
  EXPECT_EQ(out_row, (std::array<float, 3>{}));
  const Qkv qkv = test::random_qkv({.batch = 0, .tokens = 3}, 301);
  const test::LinearCase of{.map = SoftmaxExp{}};
  EXPECT_EQ(test::attended(of, qkv).all_bits().size(), 0U);
}

TEST(RandomFeatures, InvalidSizesAreRefused) {
  test::refused(make_random_features({.head_dim = 0, .features = 1}),
                {"head_dim must be in [1, 4096]", "got 0"});
  test::refused(make_random_features({.head_dim = 4097, .features = 1}), {"head_dim", "got 4097"});
  test::refused(make_random_features({.head_dim = 1, .features = 65537}),
                {"features must be in [1, 65536]", "got 65537"});
}

std::vector<double> column(const std::vector<float>& directions, std::size_t features,
                           std::size_t r) {
  std::vector<double> values;
  for (std::size_t at = r; at < directions.size(); at += features) values.push_back(directions[at]);
  return values;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Directions are orthogonal within a block of head_dim, but not across blocks. Their lengths and
// components have the moments of normal vectors. Another seed gives other directions.
TEST(RandomFeatures, AreOrthogonalWithinABlockAndNormal) {
  constexpr std::size_t d = 24;
  constexpr std::size_t features = 24 * 400 + 7;
  const auto made =
      test::value_of(make_random_features({.head_dim = d, .features = features, .seed = 5}));
  ASSERT_EQ(made.size(), d * features);
  double largest_between = 0;
  double squares = 0;
  double fourth = 0;
  double lengths = 0;
  for (std::size_t r = 0; r < features; ++r) {
    const auto a = column(made, features, r);
    const auto b = column(made, features, r + 1 < features ? r + 1 : 0);
    const double size = std::sqrt(inner(a, a) * inner(b, b));
    const bool same_block = r / d == (r + 1 < features ? r + 1 : 0) / d;
    if (same_block) {
      EXPECT_LT(std::abs(inner(a, b)), 1e-6 * size) << "feature " << r;
    } else {
      largest_between = std::max(largest_between, std::abs(inner(a, b)) / size);
    }
    lengths += std::pow(inner(a, a) - d, 2) / features;
    for (const double each : a) {
      squares += each * each / static_cast<double>(made.size());
      fourth += std::pow(each, 4) / static_cast<double>(made.size());
    }
  }
  EXPECT_GT(largest_between, 0.1);
  EXPECT_NEAR(squares, 1, 0.02);
  EXPECT_NEAR(fourth, 3, 0.1);
  EXPECT_NEAR(lengths, 2 * d, 4) << "must be the variance of chi-square with d degrees of freedom";
  const auto other =
      test::value_of(make_random_features({.head_dim = d, .features = 1, .seed = 6}));
  EXPECT_NE(other[0], made[0]);
}

TEST(RandomFeatures, HaveFixedBitsForASeed) {
  const auto made =
      test::value_of(make_random_features({.head_dim = 64, .features = 100, .seed = 2021}));
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const float each : made) {
    for (int byte = 0; byte < 4; ++byte) {
      hash = (hash ^ ((std::bit_cast<std::uint32_t>(each) >> (8 * byte)) & 0xFF)) * 0x100000001B3;
    }
  }
  EXPECT_EQ(hash, 0x79074A9BB25D4DDULL) << std::hex << hash;
  EXPECT_EQ(made[0], 0x1.bb9ae2p-2F) << std::hexfloat << made[0];
}

}  // namespace
}  // namespace rotary
