// SPDX-License-Identifier: Apache-2.0
// Tests caches with keys rotated for another context length, and merge_attention().
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "rotary/attention.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"
#include "support/attention/attended.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::bound_of;
using test::difference;
using test::is_right;
using test::refused;
using test::value_of;

constexpr AttentionMask causal{.order = AttentionOrder::causal};
constexpr float infinity = std::numeric_limits<float>::infinity();

// Dynamic NTK: 20 keys were rotated for a context of 20 tokens. Then the context grew to 40.
class GrownContext : public testing::Test {
 protected:
  GrownContext() : exact(case_of(at_40)), stale(exact.k) {
    EXPECT_TRUE(is_right(exact));
    turn(stale, at_20, 0, 20);
    turn(stale, at_40, 20, 40);
    options.encoding.q_rotations = &q_rows;
  }

  static Frequencies make(std::int64_t context_tokens) {
    const RotarySpec spec{.head_dim = 16,
                          .rotary_dim = 16,
                          .base = 100,
                          .pairing = Pairing::half,
                          .scaling = DynamicNtkScaling{.factor = 4, .original_context_tokens = 10}};
    return value_of(make_frequencies(spec, context_tokens));
  }
  static AttendCase case_of(const Frequencies& frequencies) {
    return {.shape = {1, 1, 40, 4, 2, 16, 16},
            .encoding = {.rotary = reference::Rotary{.window = frequencies.window,
                                                     .inv_freq = frequencies.inv_freq}},
            .scale = 0.1,
            .seed = 5};
  }
  static void turn(test::Tensor& keys, const Frequencies& by, std::int64_t first,
                   std::int64_t end) {
    HeadsView view = keys.view();
    view.data =
        static_cast<std::byte*>(view.data) + first * view.strides.token * size_in_bytes(view.dtype);
    view.extents.tokens = end - first;
    const auto rows =
        make_rotations(by, ConsecutivePositions{.first = first, .tokens = end - first});
    EXPECT_TRUE(rotate(view, view, value_of(rows)));
  }
  Status attend_to(const test::Tensor& keys) {
    return attend(out.view(), std::as_const(exact.q).view(), keys.view(),
                  std::as_const(exact.v).view(), options);
  }

  const Frequencies at_20 = make(20);
  const Frequencies at_40 = make(40);
  const Rotations q_rows =
      value_of(make_rotations(at_40, ConsecutivePositions{.first = 39, .tokens = 1}));
  Attended exact;
  test::Tensor stale;
  test::Tensor out{{DType::f32, {.batch = 1, .tokens = 1, .heads = 4, .features = 16}}};
  AttendOptions options{.scale = 0.1, .mask = causal};
};

TEST_F(GrownContext, MakesStaleKeysWrong) {
  test::Tensor q = exact.q;
  ASSERT_TRUE(rotate(q.view(), q.view(), q_rows));
  options.encoding = {};
  ASSERT_TRUE(attend(out.view(), std::as_const(q).view(), std::as_const(stale).view(),
                     std::as_const(exact.v).view(), options));
  EXPECT_GT(difference(out, 0, exact.out, 0), 1000 * bound_of(exact, 2));
}

TEST_F(GrownContext, StaleKeysAreRefused) {
  const auto before = out.all_bits();
  refused(attend_to(stale),
          {"cached_keys: must say what the keys were rotated by", "40 to 40", "none"});
  options.encoding.cached_keys = &at_20;
  refused(attend_to(stale), {"cached_keys", "q_rotations, 40 to 40", "20 to 20", "shift()"});
  options.encoding.q_rotations = nullptr;
  refused(attend_to(stale), {"cached_keys: keys were rotated for contexts of 20 to 20 tokens",
                             "a context of 40", "k_rotations"});
  options.encoding = {.q_rotations = &q_rows, .k_rotations = &q_rows, .cached_keys = &at_40};
  EXPECT_FALSE(attend_to(stale));
  EXPECT_EQ(out.all_bits(), before);
}

TEST_F(GrownContext, IsRightAfterShift) {
  HeadsView first = stale.view();
  first.extents.tokens = 20;
  const ConsecutivePositions positions{.first = 0, .tokens = 20};
  ASSERT_TRUE(shift(first, {at_20, positions}, {at_40, positions}));
  options.encoding.cached_keys = &at_40;
  ASSERT_TRUE(attend_to(stale));
  EXPECT_LE(difference(out, 0, exact.out, 0), 2 * bound_of(exact, 3));
}

TEST_F(GrownContext, IsRightWithUnrotatedKeys) {
  const Rotations rows =
      value_of(make_rotations(at_40, ConsecutivePositions{.first = 0, .tokens = 40}));
  options.encoding.k_rotations = &rows;
  ASSERT_TRUE(attend_to(exact.k));
  EXPECT_LE(difference(out, 0, exact.out, 0), 2 * bound_of(exact, 2));
  const Rotations others =
      value_of(make_rotations(make(60), ConsecutivePositions{.first = 0, .tokens = 40}));
  options.encoding.k_rotations = &others;
  refused(attend_to(exact.k), {"k_rotations", "q_rotations, 40 to 40", "60 to 60"});
}

// Merges attention over the first `cut` of 30 keys with attention over the rest.
TEST(MergeAttention, EqualsAttentionOverBothParts) {
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
      const double largest = 4;  // magnitude in v
      for (std::int64_t t = 0; t < 5; ++t)
        EXPECT_LE(difference(first.out, t, whole.out, t), 3 * bound_of(whole, 0) + unit * largest);
      for (std::size_t i = 1; i + 1 < whole.log_sum_exp.size(); ++i)
        EXPECT_NEAR(first.log_sum_exp[i], whole.log_sum_exp[i], 1e-5);
      EXPECT_TRUE(first.out.guards_intact());
    }
  }
}

TEST(MergeAttention, KeepsTheBitsIfAPartHasNoKeys) {
  const Extents n{.batch = 1, .tokens = 1, .heads = 3, .features = 130};
  test::Tensor a = test::random_tensor({DType::f32, n}, 1);
  const test::Tensor b = test::random_tensor({DType::f32, n}, 2);
  a.set(test::HeadIndex{0, 0, 1}, 7, infinity);  // not read: its weight is 0
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

TEST(MergeAttention, RefusesPartsThatDoNotFit) {
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
  refused(merge_attention({a.view(), of_a}, {wide.view(), of_b}), {"from.out", "f64"},
          ErrorCode::unsupported);
  refused(merge_attention({a.view(), of_a}, {other.view(), of_b}), {"from.out: extents", "5"});
  refused(merge_attention({a.view(), of_a}, {a.view(), of_b}), {"into.out"});
  test::Tensor b({DType::f32, n});
  refused(merge_attention({a.view(), of_a}, {b.view(), of_a}), {"into.log_sum_exp"});
  refused(merge_attention({a.view(), of_a}, {b.view(), short_one}),
          {"from.log_sum_exp", "queries 2", "queries 1"});
}

}  // namespace
}  // namespace rotary
