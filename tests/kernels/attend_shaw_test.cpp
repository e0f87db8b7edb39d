// SPDX-License-Identifier: Apache-2.0
// Compares Shaw's vectors in attend(), and the weights that it returns, with the reference.
// attend_test.cpp covers the other encodings.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/attention/attend_samples.hpp"
#include "support/attention/attended.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::is_right;
using test::Layout;
using test::scale_for;
using test::small;

constexpr AttentionMask causal{.order = AttentionOrder::causal};
constexpr AttentionMask bidirectional{.order = AttentionOrder::bidirectional};

// Tables of keys and values for this window, with repeating numbers.
reference::AttentionEncoding shaw(const ShawWindow& window, const test::AttentionShape& shape) {
  const auto vectors = [&](std::int64_t features, double factor) {
    reference::ShawVectors of{window, {}};
    for (std::int64_t i = 0; i < window.rows() * features; ++i)
      of.table.push_back(factor * static_cast<double>(i % 23 - 11) / 8);
    return of;
  };
  return {.shaw_keys = vectors(shape.features, 1),
          .shaw_values = vectors(shape.value_features, -1)};
}

// Windows are empty, one-sided, small and large. Sequences have 0, 1 and more tokens; many queries
// span several blocks.
TEST(AttendShaw, IsWithinTheBoundForAnyWindow) {
  struct Sizes {
    std::int64_t queries, keys, heads, key_heads;
  };
  std::uint64_t seed = 1000;
  for (const ShawWindow& window :
       {ShawWindow{0, 0}, ShawWindow{0, 3}, ShawWindow{7, 0}, ShawWindow{40, 15},
        ShawWindow{128, 128}, ShawWindow{300, 900}, ShawWindow{5000, 1}}) {
    for (const Sizes& s :
         {Sizes{0, 3, 2, 1}, Sizes{3, 0, 2, 1}, Sizes{1, 1, 2, 2}, Sizes{1, 700, 4, 2},
          Sizes{5, 300, 1, 1}, Sizes{33, 270, 4, 2}, Sizes{230, 260, 1, 1}}) {
      for (const AttentionMask& mask :
           {causal, bidirectional,
            AttentionMask{.order = AttentionOrder::causal, .left = 60, .sinks = 3}}) {
        SCOPED_TRACE(std::to_string(window.left) + " and " + std::to_string(window.right) + ", " +
                     std::to_string(s.queries) + " queries, " + std::to_string(s.keys) + " keys");
        const test::AttentionShape shape{1, s.queries, s.keys, s.heads, s.key_heads, 6, 5};
        ASSERT_TRUE(is_right({.shape = shape,
                              .encoding = shaw(window, shape),
                              .mask = mask,
                              .scale = scale_for(6),
                              .seed = seed += 10}));
      }
    }
  }
}

TEST(AttendShaw, IsWithinTheBoundForAnyDTypeAndLayout) {
  std::uint64_t seed = 1100;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    for (const Layout layout :
         {Layout::bthd, Layout::reversed_tokens, Layout::reversed, Layout::every_second_feature}) {
      for (const std::int64_t queries : {1, 9}) {
        test::AttentionShape shape = small;
        shape.queries = queries;
        ASSERT_TRUE(is_right({.shape = shape,
                              .encoding = shaw({4, 2}, shape),
                              .mask = bidirectional,
                              .scale = scale_for(12),
                              .q = {DType::bf16},
                              .k = {DType::bf16},
                              .v = {DType::bf16},
                              .out = {DType::bf16},
                              .shaw = {dtype, layout},
                              .seed = seed += 10}));
      }
    }
  }
}

// Vectors of distances that no query sees are NaN; sinks outside the window are seen.
TEST(AttendShaw, NeverReadsShawVectorsOfUnseenDistances) {
  struct Unseen {
    std::int64_t queries;
    AttentionMask mask;
    std::vector<std::int64_t> distances;
  };
  const AttentionOrder order = AttentionOrder::causal;
  const Unseen all[] = {{9, {.order = order, .left = 4}, {-8, -7, -6, -5, 1, 2, 3}},
                        {1, {.order = order, .left = 2, .sinks = 1}, {-7, -6, -5, -4, -3, 1, 2, 3}},
                        {9, {.order = order, .right = -2}, {-1, 0, 1, 2, 3}}};
  for (const Unseen& of : all) {
    test::AttentionShape shape = small;
    shape.queries = of.queries;
    AttendCase made_of{.shape = shape,
                       .encoding = shaw({8, 3}, shape),
                       .mask = of.mask,
                       .scale = scale_for(12),
                       .seed = 1200};
    for (const std::int64_t distance : of.distances) {
      for (reference::ShawVectors* vectors :
           {&*made_of.encoding.shaw_keys, &*made_of.encoding.shaw_values}) {
        const auto features = static_cast<std::int64_t>(vectors->table.size()) / 12;
        std::fill_n(vectors->table.begin() + (distance + 8) * features, features, std::nan(""));
      }
    }
    ASSERT_TRUE(is_right(made_of)) << of.queries;
  }
}

// Covers a third of all pairs of mask and encoding.
TEST(AttendWeights, AreWithinTheBound) {
  std::uint64_t seed = 1300;
  const std::vector<test::EncodingSample> encodings = test::attend_encodings(small);
  std::size_t number = 0;
  for (const test::NamedMask& mask : test::attend_masks()) {
    for (std::size_t i = number++ % 3; i < encodings.size(); i += 3) {
      const test::EncodingSample& encoding = encodings[i];
      for (const std::int64_t queries : {2, 9}) {
        if (!test::meet(encoding, mask)) continue;
        if (queries == 2 && (!mask.sequences.empty() || encoding.name != "fire")) continue;
        SCOPED_TRACE(encoding.name + ", " + mask.name);
        test::AttentionShape shape = small;
        shape.queries = queries;
        AttendCase each = test::case_of(shape, encoding, mask);
        each.seed = seed += 10;
        Attended call(each);
        call.ask_for_weights();
        test::require(call.run());
        ASSERT_TRUE(call.is_right());
      }
    }
  }
}

TEST(AttendWeights, AreWithinTheBoundForLongRowsInAnyLayout) {
  const test::AttentionShape shape{2, 30, 600, 4, 2, 5, 0};
  Attended call({.shape = shape,
                 .encoding = shaw({64, 0}, shape),
                 .mask = {.order = AttentionOrder::causal, .left = 300, .sinks = 2},
                 .scale = scale_for(5),
                 .seed = 1400});
  call.ask_for_weights();
  test::require(call.run());
  ASSERT_TRUE(call.is_right());
  // Asks for weights with reversed keys, gaps between keys, and heads within queries.
  const ScoresExtents n = call.options().weights->extents;
  std::vector<float> numbers(static_cast<std::size_t>(n.batch * n.heads * n.queries * n.keys * 2),
                             -5.0F);
  const ScoresStrides strides{.batch = n.heads * n.queries * n.keys * 2,
                              .head = n.keys * 2,
                              .query = n.heads * n.keys * 2,
                              .key = -2};
  float* const data = numbers.data() + (n.keys - 1) * 2;
  call.options().weights = ScoresView{data, DType::f32, n, strides};
  test::require(call.run());
  const float* expected = call.weights.data() + 1;
  for (std::int64_t b = 0; b < n.batch; ++b)
    for (std::int64_t h = 0; h < n.heads; ++h)
      for (std::int64_t r = 0; r < n.queries; ++r)
        for (std::int64_t c = 0; c < n.keys; ++c)
          ASSERT_EQ(data[b * strides.batch + h * strides.head + r * strides.query - 2 * c],
                    *expected++);
  for (std::size_t i = 1; i < numbers.size(); i += 2) ASSERT_EQ(numbers[i], -5.0F);
}

}  // namespace
}  // namespace rotary
