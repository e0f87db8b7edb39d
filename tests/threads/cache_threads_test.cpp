// SPDX-License-Identifier: Apache-2.0
// append, shift and attend on several threads give the bytes of one thread, without a data race.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "rotary/kv_cache.hpp"
#include "rotary/shift.hpp"
#include "rotary/threads.hpp"
#include "support/attention/attended.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Int8Heads;
using test::Tensor;

// One head of 6 bf16 features, so a cache line holds five tokens.
constexpr Extents extents{.batch = 1, .tokens = 130, .heads = 1, .features = 6};
constexpr HeadWindow window{
    .head_dim = 6, .rotary_dim = 4, .first_feature = 2, .pairing = Pairing::half};

ConsecutivePositions from(std::int64_t first) { return {.first = first, .tokens = extents.tokens}; }

class CacheOnThreads : public testing::Test {
 protected:
  const Threads threads = test::value_of(Threads::start(3));
  const Frequencies frequencies = test::frequencies_of(window, 1.25);
  const Rotations by =
      test::value_of(make_shift({frequencies, from(9000)}, {frequencies, from(20)}));
};

TEST_F(CacheOnThreads, AppendGivesTheBytesOfOneThread) {
  const Rotations rotations = test::rotations_of(frequencies, from(9000));
  const Tensor k = test::random_tensor({.extents = extents}, 90);
  const Tensor v = test::random_tensor({.extents = extents}, 91);
  // Token t gets slot 7 t modulo 130, so different parts store neighbouring slots.
  std::vector<std::int64_t> slots;
  for (std::int64_t t = 0; t < extents.tokens; ++t) slots.push_back(t * 7 % extents.tokens);
  const auto append_to = [&](Tensor& k_cache, Tensor& v_cache, const Executor& executor) {
    test::require(append({k_cache.view(), {v_cache.view()}}, {.k = k.view(), .v = {v.view()}},
                         slots_of(slots), {.rotations = &rotations, .executor = executor}));
  };
  Tensor whole_k({.dtype = DType::bf16, .extents = extents});
  Tensor whole_v({.dtype = DType::f32, .extents = extents});
  Tensor cut_k = whole_k;
  Tensor cut_v = whole_v;
  append_to(whole_k, whole_v, {});
  append_to(cut_k, cut_v, threads.executor());
  EXPECT_EQ(cut_k.bytes(), whole_k.bytes());
  EXPECT_EQ(cut_v.bytes(), whole_v.bytes());
}

TEST_F(CacheOnThreads, ShiftGivesTheBytesOfOneThread) {
  Tensor whole = test::random_tensor({.dtype = DType::bf16, .extents = extents}, 92);
  Tensor cut = whole;
  test::require(shift(whole.view(), by));
  test::require(shift(cut.view(), by, {.executor = threads.executor()}));
  EXPECT_EQ(cut.bytes(), whole.bytes());
}

TEST_F(CacheOnThreads, ShiftOfInt8GivesTheBytesOfOneThread) {
  const Int8Heads whole(extents, test::Lying::bthd);
  const Int8Heads cut(extents, test::Lying::bthd);
  for (const Int8Heads* const heads : {&whole, &cut}) heads->fill(93, -4, 4);
  test::require(shift(whole.view(), by));
  test::require(shift(cut.view(), by, {.executor = threads.executor()}));
  EXPECT_EQ(cut.bytes(), whole.bytes());
}

TEST_F(CacheOnThreads, AttendGivesTheBitsOfOneThread) {
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
