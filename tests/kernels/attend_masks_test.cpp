// SPDX-License-Identifier: Apache-2.0
// Compares softcap and pair masks of attend() with the reference: every broadcast, dtype, layout
// and encoding. Also tests that equivalent masks and hidden keys change no bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "support/attention/attend_samples.hpp"
#include "support/attention/attended.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::is_right;
using test::Layout;
using test::PairMask;
using test::scale_for;
using test::small;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr AttentionMask bidirectional{.order = AttentionOrder::bidirectional};

// The extents of all scores; axes whose bit in `shared` is set have extent 1.
ScoresExtents extents_of(const test::AttentionShape& shape, unsigned shared = 0) {
  return {.batch = (shared & 1U) != 0 ? 1 : shape.batch,
          .heads = (shared & 2U) != 0 ? 1 : shape.heads,
          .queries = (shared & 4U) != 0 ? 1 : shape.queries,
          .keys = (shared & 8U) != 0 ? 1 : shape.keys};
}

test::AttentionShape with_queries(std::int64_t queries, std::int64_t keys = small.keys) {
  test::AttentionShape shape = small;
  shape.queries = queries;
  shape.keys = keys;
  return shape;
}

// The cap 30 hardly bends scores, 0.4 bends most.
TEST(AttendSoftcap, IsWithinTheBoundForEveryEncodingAndMask) {
  std::uint64_t seed = 3000;
  for (const test::EncodingSample& encoding : test::attend_encodings(small)) {
    for (const test::NamedMask& mask : test::attend_masks()) {
      if (!test::meet(encoding, mask)) continue;
      for (const std::int64_t queries : {2, 9}) {
        if (queries == 2 && !mask.sequences.empty()) continue;  // only with 9 queries
        SCOPED_TRACE(encoding.name + ", " + mask.name + " " + std::to_string(queries));
        const bool logn = !std::holds_alternative<NoTemperature>(mask.q_temperature);
        if (logn && queries == 2) continue;
        AttendCase each = test::case_of(with_queries(queries), encoding, mask);
        each.softcap = seed % 20 == 0 ? 0.4 : 30;
        each.seed = seed += 10;
        ASSERT_TRUE(is_right(each));
      }
    }
  }
}

// With one key the log-sum-exp is the score, so this checks cap tanh(score / cap) alone, far below
// and far above the cap.
TEST(AttendSoftcap, FollowsTheFormulaForAnyScore) {
  const test::AttentionShape shape{1, 16, 1, 64, 1, 1, 1};
  for (const double cap : {0x1p-64, 0x1p40, 1.0, 50.0, 1e-5}) {
    Attended call(
        {.shape = shape, .mask = bidirectional, .softcap = cap, .scale = 1, .seed = 3100});
    call.k.set({}, 0, 1);
    test::for_each_element(call.q.extents(), [&](const test::HeadIndex& at, std::int64_t feature) {
      const double size = std::exp2(static_cast<double>(at.token) * 1.5 - 20);
      const double number = cap * size * (1 + static_cast<double>(at.head) / 64);
      call.q.set(at, feature, at.head % 2 == 0 ? number : -number);
    });
    test::require(call.run());
    ASSERT_TRUE(call.is_right()) << cap;
  }
}

// With a cap far above every score, the result is within 1e-5 of a call without a cap.
TEST(AttendSoftcap, HardlyChangesResultsFarAboveTheScores) {
  AttendCase made_of{.shape = small, .scale = scale_for(12), .seed = 3150};
  Attended plain(made_of);
  test::require(plain.run());
  made_of.softcap = 0x1p40;
  Attended call(made_of);
  test::require(call.run());
  for (std::int64_t token = 0; token < small.queries; ++token)
    EXPECT_LE(test::difference(call.out, token, plain.out, token), 1e-5);
}

TEST(AttendMasks, AreBroadcastAlongAnyAxis) {
  constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16};
  const AttentionMask causal{.order = AttentionOrder::causal};
  std::uint64_t seed = 3200;
  for (unsigned shared = 0; shared < 16; ++shared) {
    for (const std::int64_t queries : {1, 3, 9}) {
      for (const Layout layout : test::all_layouts) {
        SCOPED_TRACE(std::to_string(shared) + " " + std::to_string(queries));
        const test::AttentionShape shape = with_queries(queries);
        const PairMask numbers{
            .extents = extents_of(shape, shared), .dtype = dtypes[seed / 10 % 3], .layout = layout};
        const PairMask booleans{.extents = extents_of(shape, 15 - shared), .layout = layout};
        AttendCase made_of{.shape = shape,
                           .mask = seed % 20 == 0 ? causal : bidirectional,
                           .scale = scale_for(12),
                           .seed = seed += 10};
        const std::uint64_t kind = seed / 10 % 4;
        if (kind != 1) made_of.additive_mask = numbers;
        if (kind != 2) made_of.boolean_mask = kind == 1 ? numbers : booleans;
        ASSERT_TRUE(is_right(made_of));
      }
    }
  }
}

TEST(AttendMasks, CombineWithPositionMasksAndEveryEncoding) {
  const std::vector<test::NamedMask> masks = test::attend_masks();
  const std::vector<test::EncodingSample> encodings = test::attend_encodings(small);
  std::uint64_t seed = 3300;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    for (std::size_t j = 0; j < masks.size(); ++j) {
      const test::NamedMask& mask = masks[j];
      SCOPED_TRACE(encodings[i].name + ", " + mask.name);
      if (!test::meet(encodings[i], mask)) continue;
      AttendCase made_of = test::case_of(small, encodings[i], mask);
      made_of.seed = seed += 10;
      if ((i + j) % 2 == 0) made_of.softcap = 3;
      if ((i + j) % 3 != 0) made_of.boolean_mask = PairMask{.extents = extents_of(small)};
      if ((i + j) % 3 != 1) made_of.additive_mask = PairMask{.extents = extents_of(small, 1)};
      Attended call(made_of);
      if ((i + j) % 5 == 0) call.ask_for_weights();
      ASSERT_TRUE(is_right(call));
    }
  }
}

// Hides keys within and across vectors, panels, words, tiles and splits.
TEST(AttendMasks, AreWithinTheBoundForHolesInManyTiles) {
  struct Sizes {
    std::int64_t queries, keys, heads, key_heads;
  };
  std::uint64_t seed = 3400;
  for (const auto& [queries, keys, heads, key_heads] : {Sizes{1, 300, 8, 2},
                                                        {4, 513, 4, 2},
                                                        {9, 300, 2, 1},
                                                        {16, 700, 1, 1},
                                                        {31, 257, 2, 2},
                                                        {60, 520, 4, 1},
                                                        {1, 5000, 2, 1},
                                                        {17, 64, 3, 1}}) {
    for (const std::int64_t hidden : {0, 2, 90}) {
      for (const auto& cap : {std::optional<double>(), std::optional<double>(2)}) {
        SCOPED_TRACE(std::to_string(queries) + " of " + std::to_string(keys) + ", " +
                     std::to_string(hidden));
        const test::AttentionShape shape{1, queries, keys, heads, key_heads, 5, 37};
        AttendCase made_of{.shape = shape,
                           .encoding = {},
                           .mask = {.order = AttentionOrder::causal},
                           .softcap = cap,
                           .boolean_mask = PairMask{.extents = extents_of(shape), .hidden = hidden},
                           .scale = scale_for(5),
                           .seed = seed += 10};
        if (hidden == 90) made_of.encoding.bias = Alibi{.heads = heads};
        Attended call(made_of);
        for (std::int64_t key = 0; key + 40 < keys; ++key) {  // hides long stretches of keys
          if (key % 128 < 70 || queries == 1) continue;
          for (std::int64_t query = 0; query < queries; query += 2)
            call.set_boolean({.batch = 0, .token = query, .head = 0}, key, 0);
        }
        ASSERT_TRUE(is_right(call));
      }
    }
  }
}

std::vector<std::uint64_t> bits_of(AttendCase made_of) {
  Attended call(std::move(made_of));
  test::require(call.run());
  return call.bits();
}

// A mask that hides nothing changes no bit. Bits do not depend on whether -Inf, false or a position
// hides a key.
TEST(AttendMasks, GiveTheSameBitsForEquivalentMasks) {
  for (const std::int64_t queries : {1, 3, 9, 40}) {
    const test::AttentionShape shape = with_queries(queries, 300);
    SCOPED_TRACE(queries);
    AttendCase made_of{.shape = shape, .scale = scale_for(12), .seed = 3500};
    const auto causal = bits_of(made_of);
    made_of.boolean_mask = PairMask{.extents = extents_of(shape), .hidden = 0};
    EXPECT_EQ(bits_of(made_of), causal);
    made_of.mask = bidirectional;
    Attended booleans(made_of);
    made_of.boolean_mask = {};
    made_of.additive_mask = PairMask{.extents = extents_of(shape), .hidden = 0};
    Attended numbers(made_of);
    test::for_each_element({shape.batch, queries, shape.heads, shape.keys},
                           [&](const test::HeadIndex& at, std::int64_t key) {
                             const bool seen = key <= at.token + shape.keys - queries;
                             if (!seen) booleans.set_boolean(at, key, 0);
                             numbers.set_additive(at, key, seen ? 0 : -infinity);
                           });
    test::require(booleans.run());
    test::require(numbers.run());
    EXPECT_EQ(booleans.bits(), causal);
    EXPECT_EQ(numbers.bits(), causal);
  }
}

// Every 11th key and value is NaN or Inf. Query 1 sees most of them; the other queries see none.
TEST(AttendMasks, ShieldAQueryFromHiddenKeys) {
  for (const std::int64_t queries : {1, 2, 9, 26}) {
    const test::AttentionShape shape = with_queries(queries, 300);
    for (const bool numbers : {false, true}) {
      SCOPED_TRACE(queries);
      AttendCase made_of{
          .shape = shape, .mask = bidirectional, .softcap = 5, .scale = 0.1, .seed = 3600};
      const PairMask mask{.extents = extents_of(shape), .hidden = 0};
      (numbers ? made_of.additive_mask : made_of.boolean_mask) = mask;
      Attended call(made_of);
      const auto is_hidden = [](std::int64_t query, std::int64_t key) {
        return key % 11 == 5 && (query != 1 || key == 5);
      };
      test::for_each_element({shape.batch, queries, shape.heads, shape.keys},
                             [&](const test::HeadIndex& at, std::int64_t key) {
                               if (!is_hidden(at.token, key)) return;
                               if (numbers) call.set_additive(at, key, -infinity);
                               if (!numbers) call.set_boolean(at, key, 0);
                             });
      test::require(call.run());
      ASSERT_TRUE(call.is_right());
      const std::vector<std::uint64_t> before = call.bits();
      test::for_each_element(call.k.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
        if (at.token % 11 != 5) return;
        call.k.set(at, f, at.token % 2 == 0 ? std::nan("") : infinity);
        if (f < shape.value_features)
          call.v.set(at, f, at.token % 3 == 0 ? std::nan("") : infinity);
      });
      test::require(call.run());
      test::for_each_element(call.out.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
        EXPECT_EQ(std::isfinite(call.out.at(at, f)), at.token != 1);
      });
      if (queries == 1) {
        EXPECT_EQ(call.bits(), before);
      }
    }
  }
}

// Every pair at one distance is hidden. The distance's value vector is NaN.
TEST(AttendMasks, ShieldAQueryFromVectorsOfHiddenDistances) {
  for (const std::int64_t queries : {1, 9}) {
    const test::AttentionShape shape = with_queries(queries);
    AttendCase made_of{.shape = shape, .mask = bidirectional, .scale = 0.1, .seed = 3650};
    reference::ShawVectors values{{40, 40}, {}};
    values.table.assign(static_cast<std::size_t>(81 * shape.value_features), 0.5);
    for (std::int64_t f = 0; f < shape.value_features; ++f)
      values.table[static_cast<std::size_t>(30 * shape.value_features + f)] = std::nan("");
    made_of.encoding.shaw_values = values;
    made_of.boolean_mask = PairMask{.extents = extents_of(shape), .hidden = 3};
    Attended call(made_of);
    test::for_each_element({shape.batch, queries, shape.heads, shape.keys},
                           [&](const test::HeadIndex& at, std::int64_t key) {
                             const std::int64_t distance = key - (shape.keys - queries + at.token);
                             if (distance == -10 || at.token == 3) call.set_boolean(at, key, 0);
                           });
    ASSERT_TRUE(is_right(call));
  }
}

// If a mask hides all keys of a query, its output is 0 and its log-sum-exp is -Inf.
TEST(AttendMasks, GiveZerosToAQueryWithoutKeys) {
  for (const std::int64_t queries : {1, 9}) {
    const test::AttentionShape shape = with_queries(queries);
    for (const bool numbers : {false, true}) {
      AttendCase made_of{.shape = shape, .softcap = 5, .scale = 0.1, .seed = 3700};
      const PairMask mask{.extents = extents_of(shape, 3), .hidden = 0};
      (numbers ? made_of.additive_mask : made_of.boolean_mask) = mask;
      Attended call(made_of);
      call.ask_for_weights();
      for (std::int64_t key = 0; key < shape.keys; ++key) {
        const test::HeadIndex last{.batch = 0, .token = queries - 1, .head = 0};
        if (numbers) call.set_additive(last, key, -infinity);
        if (!numbers) call.set_boolean(last, key, 0);
      }
      ASSERT_TRUE(is_right(call));
      for (std::int64_t head = 0; head < shape.heads; ++head) {
        EXPECT_EQ(call.out.at({.batch = 1, .token = queries - 1, .head = head}, 0), 0);
        const auto row = static_cast<std::size_t>((shape.heads + head) * queries + queries - 1);
        EXPECT_EQ(call.log_sum_exp[1 + row], -infinity);
      }
    }
  }
}

// Models of Transformers mask with the lowest finite number. It hides a key as -Inf does, unless it
// is added to every key of a query.
TEST(AttendMasks, TheLowestFiniteNumberHidesAKey) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const double lowest = dtype == DType::f32    ? -0x1.fffffep127
                          : dtype == DType::bf16 ? -0x1.fep127
                                                 : -65504;
    const test::AttentionShape shape = with_queries(9);
    AttendCase made_of{.shape = shape, .mask = bidirectional, .scale = 0.1, .seed = 3800};
    made_of.additive_mask = PairMask{.extents = extents_of(shape), .dtype = dtype, .hidden = 2};
    Attended hidden(made_of);
    Attended call(made_of);
    test::for_each_element(
        {shape.batch, shape.queries, shape.heads, shape.keys},
        [&](const test::HeadIndex& at, std::int64_t key) {
          if (check::number_at(hidden.options(), at, key) == -infinity || at.token == 4)
            call.set_additive(at, key, lowest);
        });
    test::require(hidden.run());
    test::require(call.run());
    for (std::int64_t token = 0; token < shape.queries; ++token) {
      if (token != 4) {
        EXPECT_EQ(test::difference(call.out, token, hidden.out, token), 0);
        continue;
      }
      if (dtype == DType::f16) continue;  // in f16, q·k is not negligible beside the mask
      for (std::int64_t head = 0; head < shape.heads; ++head) {
        double mean = 0;
        for (std::int64_t key = 0; key < shape.keys; ++key)
          mean += call.v.at({.batch = 1, .token = key, .head = head / 2}, 0) / 23;
        EXPECT_NEAR(call.out.at({.batch = 1, .token = 4, .head = head}, 0), mean, 1e-5);
      }
    }
  }
}

TEST(AttendMasks, GiveTheBitsOfContiguousKeysForPages) {
  for (const std::int64_t queries : {1, 9}) {
    for (const std::int64_t slots : {1, 4, 23, 32}) {
      for (unsigned shared = 0; shared < 16; shared += 5) {
        const test::AttentionShape shape = with_queries(queries);
        AttendCase made_of{.shape = shape,
                           .mask = {.order = AttentionOrder::causal},
                           .sequences = {{0, 0, queries, 3, 17, 18 - queries, 0},
                                         {1, 0, queries, 0, 23, 23 - queries, 0}},
                           .softcap = 2,
                           .additive_mask = PairMask{.extents = extents_of(shape, shared)},
                           .boolean_mask = PairMask{.extents = extents_of(shape, 7)},
                           .scale = scale_for(12),
                           .seed = 3900};
        Attended call(made_of);
        ASSERT_TRUE(is_right(call));
        Attended paged(made_of);
        test::require(paged.run(call.pages(slots)));
        EXPECT_EQ(paged.bits(), call.bits());
      }
    }
  }
}

}  // namespace
}  // namespace rotary
