// SPDX-License-Identifier: Apache-2.0
// Parts of an attention that are merged.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "rotary/merge_attention.hpp"
#include "support/attend.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::bound_of;
using test::difference;
using test::fails;

constexpr float infinity = std::numeric_limits<float>::infinity();

testing::AssertionResult is_right(Attended& call) {
  const Status status = call.run();
  if (!status) return testing::AssertionFailure() << status.error().message;
  return call.is_right();
}

// One attention over 30 keys, and the merge of those over its first and last ones.
TEST(MergeAttention, IsTheAttentionOverBoth) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t cut : {0, 1, 17, 30}) {
      AttendCase each{.shape = {.batch = 2, .queries = 5, .keys = 30}, .scale = 0.1};
      each.mask = {.order = AttentionOrder::bidirectional};
      each.out.dtype = dtype;
      Attended whole(each);
      ASSERT_TRUE(is_right(whole));
      AttendCase same = each;
      same.out.dtype = DType::f32;
      Attended first(each);
      Attended second(same);
      const auto limit = [&](std::int64_t begin, std::int64_t end) {
        std::vector<AttentionSequence> all;
        for (std::int64_t batch = 0; batch < 2; ++batch)
          all.push_back({batch, 0, 5, begin, end - begin, 30, begin});
        return all;
      };
      const auto before = limit(0, cut);
      const auto after = limit(cut, 30);
      first.options().sequences = before;
      second.options().sequences = after;
      ASSERT_TRUE(first.run());
      ASSERT_TRUE(second.run());
      ASSERT_TRUE(merge_attention({first.out.view(), *first.options().log_sum_exp},
                                  {second.out.view(), *second.options().log_sum_exp}));
      const double unit = dtype == DType::f32 ? 0 : dtype == DType::bf16 ? 0x1p-7 : 0x1p-10;
      const double largest = 4;  // of a value
      for (std::int64_t t = 0; t < 5; ++t)
        EXPECT_LE(difference(first.out, t, whole.out, t), 3 * bound_of(whole, 0) + unit * largest);
      for (std::size_t i = 1; i + 1 < whole.log_sum_exp.size(); ++i)
        EXPECT_NEAR(first.log_sum_exp[i], whole.log_sum_exp[i], 1e-5);
      EXPECT_TRUE(first.out.guards_intact());
    }
  }
}

TEST(MergeAttention, LeavesBitsWhereAPartHasNoKeys) {
  const Extents n{.batch = 1, .tokens = 1, .heads = 3, .features = 130};
  test::Tensor a = test::random_tensor({DType::f32, n}, 1);
  const test::Tensor b = test::random_tensor({DType::f32, n}, 2);
  a.set(test::HeadIndex{0, 0, 1}, 7, infinity);  // a part of weight 0 is not read
  std::vector<float> of_a = {0.5F, -infinity, -infinity};
  const std::vector<float> of_b = {-infinity, 3.0F, -infinity};
  const ScoresExtents scores{.batch = 1, .heads = 3, .queries = 1, .keys = 1};
  const test::Tensor old = a;
  ASSERT_TRUE(merge_attention({a.view(), {of_a.data(), DType::f32, scores, strides_bhqk(scores)}},
                              {b.view(), {of_b.data(), DType::f32, scores, strides_bhqk(scores)}}));
  for (std::int64_t f = 0; f < n.features; ++f) {
    EXPECT_EQ(a.bits_at({0, 0, 0}, f), old.bits_at({0, 0, 0}, f));
    EXPECT_EQ(a.bits_at({0, 0, 1}, f), b.bits_at({0, 0, 1}, f));
    EXPECT_EQ(a.bits_at({0, 0, 2}, f), old.bits_at({0, 0, 2}, f));
  }
  EXPECT_EQ(of_a, (std::vector<float>{0.5F, 3.0F, -infinity}));
}

TEST(MergeAttention, RefusesWhatDoesNotFit) {
  const Extents n{.batch = 1, .tokens = 2, .heads = 3, .features = 4};
  test::Tensor a({DType::f32, n});
  test::Tensor wide({DType::f64, n});
  test::Tensor other({DType::f32, {.batch = 1, .tokens = 2, .heads = 3, .features = 5}});
  std::vector<float> lse(6);
  std::vector<float> more(6);
  const ScoresExtents scores{.batch = 1, .heads = 3, .queries = 2, .keys = 1};
  const ScoresView of_a{lse.data(), DType::f32, scores, strides_bhqk(scores)};
  const ScoresView of_b{more.data(), DType::f32, scores, strides_bhqk(scores)};
  ScoresView short_one = of_b;
  short_one.extents.queries = 1;
  const auto code = ErrorCode::invalid_argument;
  EXPECT_TRUE(fails(merge_attention({a.view(), of_a}, {wide.view(), of_b}), ErrorCode::unsupported,
                    {"from.out", "f64"}));
  EXPECT_TRUE(fails(merge_attention({a.view(), of_a}, {other.view(), of_b}), code,
                    {"from.out: extents", "5"}));
  EXPECT_TRUE(fails(merge_attention({a.view(), of_a}, {a.view(), of_b}), code, {"into.out"}));
  test::Tensor b({DType::f32, n});
  EXPECT_TRUE(
      fails(merge_attention({a.view(), of_a}, {b.view(), of_a}), code, {"into.log_sum_exp"}));
  EXPECT_TRUE(fails(merge_attention({a.view(), of_a}, {b.view(), short_one}), code,
                    {"from.log_sum_exp", "queries 2", "queries 1"}));
}

}  // namespace
}  // namespace rotary
