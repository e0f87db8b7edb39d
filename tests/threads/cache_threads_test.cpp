// SPDX-License-Identifier: Apache-2.0
// append, shift and attend on several threads give the bytes of one thread, without a data race.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "rotary/shift.hpp"
#include "rotary/threads.hpp"
#include "support/attention/attended.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Tensor;

// One head of 6 bf16 features, so a cache line holds five tokens.
constexpr Extents extents{.batch = 1, .tokens = 130, .heads = 1, .features = 6};
constexpr HeadWindow window{
    .head_dim = 6, .rotary_dim = 4, .first_feature = 2, .pairing = Pairing::half};

ConsecutivePositions from(std::int64_t first) { return {.first = first, .tokens = extents.tokens}; }

// Token t gets slot 7 t modulo 130, so different parts store neighbouring slots.
std::vector<std::int64_t> spread_slots() {
  std::vector<std::int64_t> slots(static_cast<std::size_t>(extents.tokens));
  for (std::size_t t = 0; t < slots.size(); ++t) {
    slots[t] = static_cast<std::int64_t>(t) * 7 % extents.tokens;
  }
  return slots;
}

TEST(CacheOnThreads, AppendGivesTheBytesOfOneThread) {
  const Threads threads = test::value_of(Threads::start(3));
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  const Rotations rotations = test::rotations_of(frequencies, from(9000));
  const Tensor k = test::random_tensor({.extents = extents}, 90);
  const Tensor v = test::random_tensor({.extents = extents}, 91);
  const std::vector<std::int64_t> slots = spread_slots();
  Tensor whole_k({.dtype = DType::bf16, .extents = extents});
  Tensor whole_v({.dtype = DType::f32, .extents = extents});
  Tensor cut_k = whole_k;
  Tensor cut_v = whole_v;
  const KvHeads heads{.k = k.view(), .v = {v.view()}};
  test::require(append({whole_k.view(), {whole_v.view()}}, heads, slots_of(slots),
                       {.rotations = &rotations}));
  test::require(append({cut_k.view(), {cut_v.view()}}, heads, slots_of(slots),
                       {.rotations = &rotations, .executor = threads.executor()}));
  EXPECT_EQ(cut_k.bytes(), whole_k.bytes());
  EXPECT_EQ(cut_v.bytes(), whole_v.bytes());
}

TEST(CacheOnThreads, ShiftGivesTheBytesOfOneThread) {
  const Threads threads = test::value_of(Threads::start(3));
  const Frequencies frequencies = test::frequencies_of(window);
  const Rotations by =
      test::value_of(make_shift({frequencies, from(9000)}, {frequencies, from(20)}));
  Tensor whole = test::random_tensor({.dtype = DType::bf16, .extents = extents}, 92);
  Tensor cut = whole;
  test::require(shift(whole.view(), by));
  test::require(shift(cut.view(), by, {.executor = threads.executor()}));
  EXPECT_EQ(cut.bytes(), whole.bytes());
}

TEST(CacheOnThreads, ShiftOfInt8GivesTheBytesOfOneThread) {
  const Threads threads = test::value_of(Threads::start(3));
  const Frequencies frequencies = test::frequencies_of(window);
  const Rotations by =
      test::value_of(make_shift({frequencies, from(9000)}, {frequencies, from(20)}));
  std::vector<std::int8_t> whole(static_cast<std::size_t>(extents.tokens * extents.features));
  std::iota(whole.begin(), whole.end(), std::int8_t{-128});
  std::vector<float> whole_scales(static_cast<std::size_t>(extents.tokens), 0.5F);
  std::vector<std::int8_t> cut = whole;
  std::vector<float> cut_scales = whole_scales;
  const auto view = [](std::vector<std::int8_t>& elements, std::vector<float>& scales) {
    return QuantizedHeadsView{.data = elements.data(),
                              .scales = scales.data(),
                              .extents = extents,
                              .strides = strides_bthd(extents),
                              .scale_strides = {.batch = extents.tokens, .token = 1, .head = 1}};
  };
  test::require(shift(view(whole, whole_scales), by));
  test::require(shift(view(cut, cut_scales), by, {.executor = threads.executor()}));
  EXPECT_EQ(cut, whole);
  EXPECT_EQ(cut_scales, whole_scales);
}

TEST(AttendOnThreads, GivesTheBitsOfOneThread) {
  const Threads threads = test::value_of(Threads::start(3));
  const test::AttentionShape shape{.queries = 30, .keys = 40, .features = 6, .value_features = 5};
  for (const test::EncodingSample& encoding : test::attention_encodings(shape)) {
    if (encoding.name != "rotary half" && encoding.name != "alibi" && encoding.name != "fire")
      continue;
    for (const std::int64_t queries : {1, 30}) {
      test::AttentionShape of = shape;
      of.queries = queries;
      test::Attended call({.shape = of, .encoding = encoding.encoding, .seed = 92});
      test::require(call.run());
      const std::vector<std::uint64_t> alone = call.bits();
      call.options().executor = threads.executor();
      for (int again = 0; again < 5; ++again) {
        test::require(call.run());
        EXPECT_EQ(call.bits(), alone) << encoding.name;
      }
    }
  }
}

}  // namespace
}  // namespace rotary
