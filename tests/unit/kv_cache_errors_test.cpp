// SPDX-License-Identifier: Apache-2.0
// Breaks each requirement in kv_cache.hpp and head_norm.hpp once. The error must state requirement
// and value, and no byte may change.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "support/called.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr Extents k_extents{.batch = 2, .tokens = 3, .heads = 4, .features = 16};
constexpr Extents v_extents{.batch = 2, .tokens = 3, .heads = 2, .features = 6};
constexpr Extents k_blocks{.batch = 5, .tokens = 4, .heads = 4, .features = 16};
constexpr Extents v_blocks{.batch = 5, .tokens = 4, .heads = 2, .features = 6};

Rotations rotations_with(const RotationsOptions& options = {},
                         const Numerics numerics = Numerics::exact) {
  RotarySpec spec{.head_dim = 16, .base = 10000.0, .pairing = Pairing::half};
  spec.numerics = numerics;
  if (options.role) spec.xpos = Xpos{};
  const auto frequencies = make_frequencies(spec);
  EXPECT_TRUE(frequencies);
  const auto rotations =
      make_rotations(*frequencies, ConsecutivePositions{.first = 9, .tokens = 3}, options);
  EXPECT_TRUE(rotations);
  return *rotations;
}

// A valid call of append(). Tests change one thing about it.
struct AppendCall {
  Tensor k_cache = test::random_tensor({.extents = k_blocks}, 70);
  Tensor v_cache = test::random_tensor({.extents = v_blocks}, 71);
  Tensor k = test::random_tensor({.extents = k_extents}, 72);
  Tensor v = test::random_tensor({.extents = v_extents}, 73);
  KvCache cache{.k = k_cache.view(), .v = v_cache.view()};
  KvHeads heads{.k = k.view(), .v = v.view()};
  std::vector<std::int64_t> numbers = {0, 19, 7, 8, -1, 3};
  Slots slots = slots_of(numbers, 2);
  Rotations rotations = rotations_with();
  AppendOptions options{.rotations = &rotations};

  [[nodiscard]] auto written() const { return std::pair(k_cache.bytes(), v_cache.bytes()); }
  [[nodiscard]] Status run() const { return test::called::append(cache, heads, slots, options); }
  // Sets and returns a valid norm.
  KeyNorm& norm() {
    return options.k_norm.emplace(KeyNorm{.norm = {.epsilon = 1e-6, .over = NormOver::each_head},
                                          .order = NormOrder::before_rotation});
  }
};

using AppendErrors = test::Refusals<AppendCall>;
// cuda/ runs AppendErrors, too, but not suites ...OfTheCpuAlone (tests/support/called.hpp).
using AppendErrorsOfTheCpuAlone = AppendErrors;

TEST_F(AppendErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(append(c.cache, c.heads, c.slots, c.options));
  EXPECT_TRUE(append(c.cache, c.heads, c.slots));
  c.norm();
  EXPECT_TRUE(append(c.cache, c.heads, c.slots, c.options));
  EXPECT_TRUE(append(c.cache, c.heads, ConsecutiveSlots{1}, c.options));
}

TEST_F(AppendErrors, ShapesThatDoNotFitAreRefused) {
  refuse(c.heads.k.extents.tokens = c.heads.v->extents.tokens = 2, {"k: tokens", "3", "got 2"});
  refuse(c.heads.k.extents.heads = 3, {"cache.k: heads and features", "3 and 16", "got 4 and 16"});
  refuse(c.heads.v->extents.features = 5,
         {"cache.v: heads and features", "2 and 5", "got 2 and 6"});
  refuse(c.heads.v->extents.tokens = 2, {"v: batch and tokens", "2 and 3", "got 2 and 2"});
  refuse(c.cache.v->extents.batch = 4, {"cache.v: blocks", "5 and 4", "got 4 and 4"});
}

TEST_F(AppendErrors, ValuesInOnlyOneOfCacheAndHeadsAreRefused) {
  refuse(c.heads.v = {}, {"v in the cache alone"});
  refuse(c.cache.v = {}, {"v in the heads alone"});
}

TEST_F(AppendErrors, UnsupportedConversionsAreRefused) {
  c.cache.k.dtype = DType::f16;
  refuse(c.heads.k.dtype = DType::bf16, {"cache.k", "f32 to bf16 or f16", "got bf16 to f16"});
  refuse(c.cache.v->dtype = DType::f64, {"cache.v", "got f32 to f64"});
  refuse(c.cache.v->dtype = static_cast<DType>(7), {"cache.v", "dtype must be", "7"});
}

TEST_F(AppendErrors, InvalidViewsAreRefused) {
  refuse(c.cache.k.data = nullptr, {"cache.k", "null"});
  refuse(c.cache.v->data = static_cast<std::byte*>(c.cache.v->data) + 2,
         {"cache.v", "aligned", "4"});
  refuse(c.cache.k.strides.batch = highest, {"cache.k", "2^62", "9223372036854775807"});
  refuse(c.cache.k.extents.tokens = c.cache.v->extents.tokens = -1, {"cache.k", ">= 0", "-1"});
}

TEST_F(AppendErrorsOfTheCpuAlone, FeaturesThatAreNotAdjacentAreRefused) {
  refuse(c.heads.k.strides.feature = 2, {"k: features must be adjacent", "feature 2"});
  refuse(c.cache.v->strides.feature = -1, {"cache.v: features must be adjacent", "feature -1"});
}

TEST_F(AppendErrors, SharedElementsAreRefused) {
  for (std::int64_t Strides::*axis : {&Strides::batch, &Strides::token, &Strides::head})
    refuse(c.cache.k.strides.*axis = 0, {"cache.k", "distinct", " 0"});
  refuse(c.heads.k.data = c.cache.k.data, {"cache.k and k", "overlap"});
  c.heads.k.data = c.cache.k.data;  // even if k is a view of the cache
  refuse(c.heads.k.strides = c.cache.k.strides, {"cache.k and k", "overlap"});
  refuse(c.heads.v->data = c.cache.k.data, {"cache.k and v", "overlap"});
  refuse(c.heads.v->data = c.cache.v->data, {"cache.v and v", "overlap"});
  refuse(c.cache.v->data = c.cache.k.data, {"cache.k and cache.v", "overlap"});
  refuse(c.norm().norm.weight = {static_cast<const float*>(c.cache.v->data), 16},
         {"cache.v and", "norm.weight", "overlap"});
  const auto* const numbers = static_cast<const std::int32_t*>(c.cache.v->data);
  refuse(c.slots = TokenArray<std::int32_t>{numbers, 2, 3, 3}, {"cache.v and slots", "overlap"});
}

TEST_F(AppendErrors, ConsecutiveSlotsOutsideTheBlocksAreRefused) {
  for (const std::int64_t first :
       {std::int64_t{-1}, std::int64_t{2}, highest, std::numeric_limits<std::int64_t>::min()}) {
    refuse(c.slots = ConsecutiveSlots{first},
           {"first", "0 to 1", "3 tokens", "4 slots", std::to_string(first)});
  }
  c.slots = ConsecutiveSlots{};
  refuse(c.cache.k.extents.batch = c.cache.v->extents.batch = 1,
         {"block for each batch row", "2", "got 1"});
  c.slots = ConsecutiveSlots{};
  refuse(c.cache.k.extents.tokens = c.cache.v->extents.tokens = 2,
         {"as many slots in a block", "3", "got 2"});
}

TEST_F(AppendErrorsOfTheCpuAlone, SlotsOutsideTheCacheAreRefused) {
  for (const std::int64_t slot : {std::int64_t{20}, highest})
    refuse(c.numbers[5] = slot,
           {"slots", "below", "20", std::to_string(slot), "token 2 of batch row 1"});
}

TEST_F(AppendErrorsOfTheCpuAlone, ARepeatedSlotIsRefused) {
  refuse(c.numbers[5] = 19, {"slots", "distinct", "got 19 twice"});
  c.options.rotations = nullptr;
  refuse(c.numbers[5] = 19, {"slots", "distinct", "got 19 twice"});
}

// A stride of 0 gives several tokens the same slot. Only padding, -1, may repeat.
TEST_F(AppendErrorsOfTheCpuAlone, AStrideOfZeroIsAcceptedOnlyForPadding) {
  const std::vector<std::int64_t> padding(6, -1);
  for (std::int64_t TokenArray<std::int64_t>::*stride :
       {&TokenArray<std::int64_t>::token_stride, &TokenArray<std::int64_t>::batch_stride}) {
    TokenArray<std::int64_t> map = slots_of(padding, 2);
    map.*stride = 0;
    const auto before = c.written();
    EXPECT_TRUE(append(c.cache, c.heads, map, c.options));
    EXPECT_EQ(c.written(), before);
    map.data = c.numbers.data();
    refuse(c.slots = map, {"slots", "distinct", "got 0 twice"});
  }
}

TEST_F(AppendErrors, SlotMapsOfAnotherShapeAreRefused) {
  using Numbers = TokenArray<std::int64_t>;
  refuse(c.slots = slots_of(c.numbers), {"slots: batch and tokens", "2 and 3", "got 1 and 6"});
  refuse(c.slots = slots_of(c.numbers, 4), {"slots: batch and tokens", "2 and 3", "got 0 and 0"});
  refuse(c.slots = Numbers{.data = nullptr, .batch = 2, .tokens = 3}, {"slots", "null"});
  refuse(c.slots = Numbers{.data = c.numbers.data(), .batch = -2, .tokens = 3},
         {"slots", ">= 0", "-2"});
}

TEST_F(AppendErrorsOfTheCpuAlone, QueryRotationsAreRefused) {
  refuse(c.rotations = rotations_with({.role = Role::query}), {"keys", "role query"});
  accept(c.rotations = rotations_with({.role = Role::key}));
}

TEST_F(AppendErrorsOfTheCpuAlone, RotationsForAnotherTypeAreRefused) {
  refuse(c.rotations = rotations_with({.tensors = DType::bf16}), {"k: dtype", "bf16", "got f32"});
  refuse(c.rotations = rotations_with({.rows = RowDType::f64}), {"k: f32 elements", "f64 rows"});
}

TEST_F(AppendErrors, InvalidNormsAreRefused) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<float> weight(63);
  refuse(c.norm().order = {}, {"order", "before_rotation", "0"});
  refuse(c.norm().norm.over = {}, {"over", "each_head", "0"});
  for (const double epsilon : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), infinity})
    refuse(c.norm().norm.epsilon = epsilon, {"epsilon", "2^-126", "got"});
  refuse(c.norm().norm.weight_offset = 1, {"weight_offset", "1", "none"});
  refuse(c.norm().norm.weight = weight, {"weight", "16", "got 63"});
  c.norm().norm.weight = weight;
  refuse(c.options.k_norm->norm.over = NormOver::all_heads, {"weight", "4 * 16", "got 63"});
  c.norm().norm.weight = weight;
  refuse(c.options.k_norm->norm.weight_offset = infinity, {"weight_offset", "2^126", "inf"});
}

TEST_F(AppendErrorsOfTheCpuAlone, UnsupportedNormsAreRefused) {
  c.options.rotations = nullptr;
  refuse(c.norm().order = NormOrder::after_rotation,
         {"before_rotation", "not rotated", "after_rotation"});
  c.rotations = rotations_with({.rows = RowDType::f64});
  c.heads.k.extents.heads = c.cache.k.extents.heads = 2;
  c.heads.k.strides.head = c.cache.k.strides.head = 16;
  c.heads.k.dtype = c.cache.k.dtype = DType::f64;
  refuse(c.norm(), {"k_norm", "f32, bf16 or f16", "f64"});
  c.rotations = rotations_with({.tensors = DType::bf16}, Numerics::transformers);
  c.heads.k.dtype = c.cache.k.dtype = DType::bf16;
  refuse(c.norm(), {"k_norm", "products of bf16", "normalize_heads()"});
}

TEST_F(AppendErrorsOfTheCpuAlone, HeadsTooLongToNormalizeAreRefused) {
  const Extents n{.tokens = 1, .heads = 1, .features = 2049};
  Tensor to({.extents = n});
  const Tensor from({.extents = n});
  c.cache = {.k = to.view()};
  c.heads = {.k = from.view()};
  c.slots = ConsecutiveSlots{};
  c.options.rotations = nullptr;
  refuse(c.norm(), {"at most 2048", "got 2049"});
}

// The slots are so far apart that the check needs several windows of bits. The last slot repeats an
// earlier one.
TEST(AppendSlots, ARepeatAmongManySlotsIsRefused) {
  constexpr std::int64_t tokens = 3000;
  constexpr std::int64_t blocks = 700'000;
  const Extents n{.tokens = tokens, .heads = 1, .features = 1};
  std::vector<std::uint16_t> bits(blocks);
  const HeadsView cache{bits.data(), DType::bf16, {blocks, 1, 1, 1}, {.batch = 1}};
  const Tensor k = test::random_tensor({DType::bf16, n}, 74);
  std::vector<std::int32_t> slots;
  for (std::int32_t i = 0; i < tokens; ++i) {
    slots.push_back(static_cast<std::int32_t>((i * 233 + 1) % blocks));
  }
  std::swap(slots[5], slots[6]);
  EXPECT_TRUE(append({cache}, {k.view()}, slots_of(slots)));
  for (const std::size_t again : {1U, 700U, 2998U}) {
    std::vector<std::int32_t> repeated = slots;
    repeated.back() = slots[again];
    test::refused(append({cache}, {k.view()}, slots_of(repeated)),
                  {"distinct", std::to_string(slots[again])});
  }
}

struct NormalizeCall {
  Tensor x = test::random_tensor({.extents = k_extents}, 75);
  Tensor y = test::random_tensor({.extents = k_extents}, 76);
  HeadsView dst = x.view();
  ConstHeadsView src = y.view();
  HeadNorm norm{.epsilon = 1e-6, .over = NormOver::each_head};

  [[nodiscard]] auto written() const { return x.bytes(); }
  [[nodiscard]] Status run() const { return normalize_heads(dst, src, norm); }
};

using NormalizeHeadsErrors = test::Refusals<NormalizeCall>;

TEST_F(NormalizeHeadsErrors, ViewsThatDoNotFitAreRefused) {
  refuse(c.dst.extents.heads = 3, {"same extents", "heads 3", "heads 4"});
  refuse(c.dst.strides.token = 0, {"dst", "distinct"});
  c.dst.extents.batch = 1;
  refuse(c.dst.dtype = DType::f64, {"src to dst", "f32 to f64"});
  refuse(c.src.data = static_cast<const float*>(c.dst.data) + 1, {"dst and src", "overlap"});
  refuse(c.src.strides.feature = 0, {"src", "adjacent"});
  refuse(c.src.data = nullptr, {"src", "null"});
  refuse(c.norm.weight = {static_cast<const float*>(c.dst.data), 16},
         {"dst and weight", "overlap"});
}

}  // namespace
}  // namespace rotary
