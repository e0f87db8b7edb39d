// SPDX-License-Identifier: Apache-2.0
// Every requirement stated in kv_cache.hpp and head_norm.hpp, broken once: the error says it and
// what was got, and no byte has changed.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "support/called.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"

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

// A call that append() accepts until one thing about it is changed.
class AppendErrors : public testing::Test {
 protected:
  AppendErrors()
      : k_cache_(test::random_tensor({.extents = k_blocks}, 70)),
        v_cache_(test::random_tensor({.extents = v_blocks}, 71)),
        k_(test::random_tensor({.extents = k_extents}, 72)),
        v_(test::random_tensor({.extents = v_extents}, 73)),
        cache{.k = k_cache_.view(), .v = v_cache_.view()},
        heads{.k = k_.view(), .v = v_.view()},
        k_before_(k_cache_.bytes()),
        v_before_(v_cache_.bytes()) {}

  void expect_refused(std::initializer_list<std::string_view> parts) {
    expect(test::called::append(cache, heads, slots, options), parts);
  }
  void expect_refused_unrotated(std::initializer_list<std::string_view> parts) {
    options.rotations = nullptr;
    expect(append(cache, heads, slots, options), parts);
    options.rotations = &rotations;
  }
  // With a norm, and with one thing about it changed.
  void expect_norm_refused(const KeyNorm& norm, std::initializer_list<std::string_view> parts) {
    options.k_norm = norm;
    expect_refused(parts);
  }
  void expect_nothing_written() const {
    EXPECT_EQ(k_cache_.bytes(), k_before_) << "cache.k has been written";
    EXPECT_EQ(v_cache_.bytes(), v_before_) << "cache.v has been written";
  }

 private:
  void expect(const Status& status, std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(test::fails(status, ErrorCode::invalid_argument, parts));
    expect_nothing_written();
  }

  Tensor k_cache_;
  Tensor v_cache_;
  Tensor k_;
  Tensor v_;

 protected:
  KvCache cache;
  KvHeads heads;
  std::vector<std::int64_t> numbers = {0, 19, 7, 8, -1, 3};
  Slots slots = slots_of(numbers, 2);
  Rotations rotations = rotations_with();
  AppendOptions options{.rotations = &rotations};
  const KeyNorm good_norm{.norm = {.epsilon = 1e-6, .over = NormOver::each_head},
                          .order = NormOrder::before_rotation};

 private:
  std::vector<std::byte> k_before_;
  std::vector<std::byte> v_before_;
};

using AppendErrorsOfTheCpuAlone = AppendErrors;

TEST_F(AppendErrors, NoneToBeginWith) {
  EXPECT_TRUE(append(cache, heads, slots, options));
  EXPECT_TRUE(append(cache, heads, slots));
  options.k_norm = good_norm;
  EXPECT_TRUE(append(cache, heads, slots, options));
  EXPECT_TRUE(append(cache, heads, ConsecutiveSlots{1}, options));
}

TEST_F(AppendErrors, Shapes) {
  const KvHeads good = heads;
  heads.k.extents.tokens = heads.v->extents.tokens = 2;
  expect_refused({"k: tokens", "3", "got 2"});
  heads = good;
  heads.k.extents.heads = 3;
  expect_refused({"cache.k: heads and features", "3 and 16", "got 4 and 16"});
  heads = good;
  heads.v->extents.features = 5;
  expect_refused({"cache.v: heads and features", "2 and 5", "got 2 and 6"});
  heads = good;
  heads.v->extents.tokens = 2;
  expect_refused({"v: batch and tokens", "2 and 3", "got 2 and 2"});
  heads = good;
  cache.v->extents.batch = 4;
  expect_refused({"cache.v: blocks", "5 and 4", "got 4 and 4"});
}

TEST_F(AppendErrors, ValuesOnOneSideAlone) {
  heads.v.reset();
  expect_refused({"v in the cache alone"});
  heads.v = heads.k;
  cache.v.reset();
  expect_refused({"v in the heads alone"});
}

TEST_F(AppendErrors, Conversions) {
  cache.k.dtype = DType::f16;
  heads.k.dtype = DType::bf16;
  expect_refused({"cache.k", "f32 to bf16 or f16", "got bf16 to f16"});
  heads.k.dtype = DType::f32;
  cache.v->dtype = DType::f64;
  expect_refused({"cache.v", "got f32 to f64"});
  cache.v->dtype = static_cast<DType>(7);
  expect_refused({"cache.v", "dtype must be", "7"});
}

TEST_F(AppendErrors, Memory) {
  const KvCache good = cache;
  cache.k.data = nullptr;
  expect_refused({"cache.k", "null"});
  cache = good;
  cache.v->data = static_cast<std::byte*>(cache.v->data) + 2;
  expect_refused({"cache.v", "aligned", "4"});
  cache = good;
  cache.k.strides.batch = highest;
  expect_refused({"cache.k", "2^62", "9223372036854775807"});
  cache = good;
  cache.k.extents.tokens = cache.v->extents.tokens = -1;
  expect_refused({"cache.k", ">= 0", "-1"});
}

TEST_F(AppendErrorsOfTheCpuAlone, FeaturesApart) {
  heads.k.strides.feature = 2;
  expect_refused({"k: features must be adjacent", "feature 2"});
  heads.k.strides.feature = 1;
  cache.v->strides.feature = -1;
  expect_refused({"cache.v: features must be adjacent", "feature -1"});
}

TEST_F(AppendErrors, SharedElements) {
  const KvCache good = cache;
  const KvHeads good_heads = heads;
  for (std::int64_t Strides::*axis : {&Strides::batch, &Strides::token, &Strides::head}) {
    cache.k.strides.*axis = 0;
    expect_refused({"cache.k", "distinct", " 0"});
    cache = good;
  }
  heads.k.data = cache.k.data;
  expect_refused({"cache.k and k", "overlap"});
  heads.k.strides = cache.k.strides;  // each token where it is to be
  expect_refused({"cache.k and k", "overlap"});
  heads = good_heads;
  heads.v->data = cache.k.data;
  expect_refused({"cache.k and v", "overlap"});
  heads.v->data = cache.v->data;
  expect_refused({"cache.v and v", "overlap"});
  heads = good_heads;
  cache.v->data = cache.k.data;
  expect_refused({"cache.k and cache.v", "overlap"});
  cache = good;
  KeyNorm norm = good_norm;
  norm.norm.weight = {static_cast<const float*>(cache.v->data), 16};
  expect_norm_refused(norm, {"cache.v and", "norm.weight", "overlap"});
  options.k_norm.reset();
  slots = TokenArray<std::int32_t>{.data = static_cast<const std::int32_t*>(cache.v->data),
                                   .batch = 2,
                                   .tokens = 3,
                                   .batch_stride = 3};
  expect_refused({"cache.v and slots", "overlap"});
}

TEST_F(AppendErrors, ConsecutiveSlotsOutsideTheBlocks) {
  for (const std::int64_t first :
       {std::int64_t{-1}, std::int64_t{2}, highest, std::numeric_limits<std::int64_t>::min()}) {
    slots = ConsecutiveSlots{first};
    expect_refused({"first", "0 to 1", "3 tokens", "4 slots", std::to_string(first)});
  }
  slots = ConsecutiveSlots{};
  cache.k.extents.batch = cache.v->extents.batch = 1;
  expect_refused({"block for each batch row", "2", "got 1"});
  cache.k.extents.batch = cache.v->extents.batch = 5;
  cache.k.extents.tokens = cache.v->extents.tokens = 2;
  expect_refused({"as many slots in a block", "3", "got 2"});
}

TEST_F(AppendErrorsOfTheCpuAlone, SlotsOutsideTheCache) {
  for (const std::int64_t slot : {std::int64_t{20}, highest}) {
    numbers[5] = slot;
    expect_refused({"slots", "below", "20", std::to_string(slot), "token 2 of batch row 1"});
  }
}

TEST_F(AppendErrorsOfTheCpuAlone, TheSameSlotTwice) {
  numbers[5] = 19;
  expect_refused({"slots", "distinct", "got 19 twice"});
  expect_refused_unrotated({"slots", "distinct", "got 19 twice"});
}

// A stride of 0 gives several tokens one slot: they are padding, or refused.
TEST_F(AppendErrorsOfTheCpuAlone, OneSlotForMany) {
  for (const bool of_batch_rows : {false, true}) {
    TokenArray<std::int64_t> map = slots_of(numbers, 2);
    (of_batch_rows ? map.batch_stride : map.token_stride) = 0;
    slots = map;
    expect_refused({"slots", "distinct", "got 0 twice"});
    const std::vector<std::int64_t> padding(6, -1);
    map.data = padding.data();
    slots = map;
    EXPECT_TRUE(append(cache, heads, slots, options));
    expect_nothing_written();
  }
}

TEST_F(AppendErrors, MapsOfAnotherShape) {
  slots = slots_of(numbers);
  expect_refused({"slots: batch and tokens", "2 and 3", "got 1 and 6"});
  slots = slots_of(numbers, 4);
  expect_refused({"slots: batch and tokens", "2 and 3", "got 0 and 0"});
  slots = TokenArray<std::int64_t>{.data = nullptr, .batch = 2, .tokens = 3};
  expect_refused({"slots", "null"});
  slots = TokenArray<std::int64_t>{.data = numbers.data(), .batch = -2, .tokens = 3};
  expect_refused({"slots", ">= 0", "-2"});
}

TEST_F(AppendErrorsOfTheCpuAlone, RotationsOfTheQuery) {
  rotations = rotations_with({.role = Role::query});
  expect_refused({"keys", "role query"});
  rotations = rotations_with({.role = Role::key});
  EXPECT_TRUE(append(cache, heads, slots, options));
}

TEST_F(AppendErrorsOfTheCpuAlone, RotationsOfAnotherType) {
  rotations = rotations_with({.tensors = DType::bf16});
  expect_refused({"k: dtype", "bf16", "got f32"});
  rotations = rotations_with({.rows = RowDType::f64});
  expect_refused({"k: f32 elements", "f64 rows"});
}

TEST_F(AppendErrors, NormsThatAreNone) {
  KeyNorm norm = good_norm;
  norm.order = {};
  expect_norm_refused(norm, {"order", "before_rotation", "0"});
  norm = good_norm;
  norm.norm.over = {};
  expect_norm_refused(norm, {"over", "each_head", "0"});
  for (const double epsilon : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
    norm = good_norm;
    norm.norm.epsilon = epsilon;
    expect_norm_refused(norm, {"epsilon", "2^-126", "got"});
  }
  norm = good_norm;
  norm.norm.weight_offset = 1;
  expect_norm_refused(norm, {"weight_offset", "1", "none"});
  const std::vector<float> weight(63);
  norm.norm.weight = weight;
  expect_norm_refused(norm, {"weight", "16", "got 63"});
  norm.norm.over = NormOver::all_heads;
  expect_norm_refused(norm, {"weight", "4 * 16", "got 63"});
  norm.norm.weight_offset = std::numeric_limits<double>::infinity();
  expect_norm_refused(norm, {"weight_offset", "2^126", "inf"});
}

TEST_F(AppendErrorsOfTheCpuAlone, NormsThatCannotBeTaken) {
  options.k_norm = good_norm;
  options.k_norm->order = NormOrder::after_rotation;
  expect_refused_unrotated({"before_rotation", "not rotated", "after_rotation"});
  options.k_norm = good_norm;
  rotations = rotations_with({.rows = RowDType::f64});
  heads.k.dtype = cache.k.dtype = DType::f64;
  heads.k.extents.heads = cache.k.extents.heads = 2;
  heads.k.strides.head = cache.k.strides.head = 16;
  expect_refused({"k_norm", "f32, bf16 or f16", "f64"});
  heads.k.dtype = cache.k.dtype = DType::bf16;
  rotations = rotations_with({.tensors = DType::bf16}, Numerics::transformers);
  expect_refused({"k_norm", "products of bf16", "normalize_heads()"});
}

TEST_F(AppendErrorsOfTheCpuAlone, HeadsTooLongToNormalize) {
  const Extents n{.tokens = 1, .heads = 1, .features = 2049};
  Tensor to({.extents = n});
  const Tensor from({.extents = n});
  cache = {.k = to.view()};
  heads = {.k = from.view()};
  slots = ConsecutiveSlots{};
  options.k_norm = good_norm;
  expect_refused_unrotated({"at most 2048", "got 2049"});
}

// Maps of many tokens over many windows of the check, whose last repeats the first.
TEST(AppendSlots, TwiceAmongMany) {
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
    EXPECT_TRUE(test::fails(append({cache}, {k.view()}, slots_of(repeated)),
                            ErrorCode::invalid_argument,
                            {"distinct", std::to_string(slots[again])}));
  }
}

TEST(NormalizeHeadsErrors, OfTheViews) {
  const HeadNorm norm{.epsilon = 1e-6, .over = NormOver::each_head};
  Tensor x = test::random_tensor({.extents = k_extents}, 75);
  const Tensor y = test::random_tensor({.extents = k_extents}, 76);
  const auto bytes = x.bytes();
  const auto refused = [&](const HeadsView& dst, const ConstHeadsView& src,
                           std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(test::fails(normalize_heads(dst, src, norm), ErrorCode::invalid_argument, parts));
    EXPECT_EQ(x.bytes(), bytes);
  };
  HeadsView dst = x.view();
  dst.extents.heads = 3;
  refused(dst, y.view(), {"same extents", "heads 3", "heads 4"});
  dst = x.view();
  dst.strides.token = 0;
  refused(dst, y.view(), {"dst", "distinct"});
  dst = x.view();
  dst.dtype = DType::f64;
  dst.extents.batch = 1;
  refused(dst, y.view(), {"src to dst", "f32 to f64"});
  ConstHeadsView src = y.view();
  src.data = static_cast<const float*>(x.view().data) + 1;
  refused(x.view(), src, {"dst and src", "overlap"});
  src = y.view();
  src.strides.feature = 0;
  refused(x.view(), src, {"src", "adjacent"});
  src.data = nullptr;
  refused(x.view(), src, {"src", "null"});
  const HeadNorm aliased{.weight = {static_cast<const float*>(x.view().data), 16},
                         .epsilon = 1e-6,
                         .over = NormOver::each_head};
  EXPECT_TRUE(test::fails(normalize_heads(x.view(), y.view(), aliased), ErrorCode::invalid_argument,
                          {"dst and weight", "overlap"}));
}

}  // namespace
}  // namespace rotary
