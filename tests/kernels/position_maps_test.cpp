// SPDX-License-Identifier: Apache-2.0
// Attention under position maps against the definition of each, pair by pair.
#include "rotary/position_maps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "reference/position_maps.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/error_matchers.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::fails;
using test::HeadIndex;
using test::Layout;
using test::Tensor;

struct Case {
  PositionMap map;
  std::int64_t queries = 73;
  std::int64_t keys = 73;
  Pairing pairing = Pairing::half;
  std::int64_t batch = 1;
  std::optional<std::int64_t> left = {};
  std::vector<AttentionSequence> sequences = {};
  QueryTemperature temperature = {};
  DType dtype = DType::f32;  // of out and k
  Layout layout = Layout::bthd;
  Executor executor = {};
};

constexpr std::int64_t heads = 4;
constexpr std::int64_t key_heads = 2;
constexpr std::int64_t head_dim = 14;
constexpr std::int64_t value_features = 5;
constexpr double scale = 0.7;

// 5 pairs between features that do not turn; the fastest completes a turn within 7 positions.
Frequencies frequencies_of(Pairing pairing) {
  const HeadWindow window{
      .head_dim = head_dim, .rotary_dim = 10, .first_feature = 3, .pairing = pairing};
  return test::value_of(make_frequencies(window, {1.0, -0.3, 0.11, 0.02, 0.0}, 1.25));
}

const std::vector<PositionMap>& maps() {
  static const std::vector<PositionMap> all = {
      ReRope{0},          ReRope{1},           ReRope{7},         ReRope{72},
      ReRope{73},         ReRope{1000},        LeakyReRope{0, 3}, LeakyReRope{1, 16},
      LeakyReRope{9, 4},  LeakyReRope{500, 2}, LeakyReRope{5, 1}, SelfExtend{0, 4},
      SelfExtend{1, 3},   SelfExtend{10, 4},   SelfExtend{20, 1}, SelfExtend{99, 8},
      DualChunk{12, 4},   DualChunk{8, 0},     DualChunk{9, 8},   DualChunk{10, 7},
      DualChunk{200, 3},  DualChunk{1, 0},     ClippedAngle{},    ClippedAngle{1.0},
      ClippedAngle{0.01}, ClippedAngle{1e-300}};
  return all;
}

reference::Heads heads_of(const Tensor& tensor) {
  reference::Heads result{.extents = tensor.extents(), .values = {}};
  test::for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t f) {
    result.values.push_back(tensor.at(index, f));
  });
  return result;
}

struct Tensors {
  explicit Tensors(const Case& of)
      : q({.extents = {of.batch, of.queries, heads, head_dim}, .layout = of.layout}),
        k({.dtype = of.dtype,
           .extents = {of.batch, of.keys, key_heads, head_dim},
           .layout = of.layout}),
        v({.extents = {of.batch, of.keys, key_heads, value_features}, .layout = of.layout}),
        out({.dtype = of.dtype,
             .extents = {of.batch, of.queries, heads, value_features},
             .layout = of.layout}),
        log_sum_exp(static_cast<std::size_t>(of.batch * heads * of.queries), 7.0F) {
    test::Random random(20250 + static_cast<std::uint64_t>(of.queries));
    for (Tensor* each : {&q, &k, &v}) {
      test::for_each_element(each->extents(), [&](const HeadIndex& index, std::int64_t f) {
        each->set(index, f, random.unit() * 2 - 1);
      });
    }
  }

  [[nodiscard]] ScoresView log_sum_exp_view() {
    const ScoresExtents n{
        .batch = q.extents().batch, .heads = heads, .queries = q.extents().tokens, .keys = 1};
    return {log_sum_exp.data(), DType::f32, n, strides_bhqk(n)};
  }

  Tensor q;
  Tensor k;
  Tensor v;
  Tensor out;
  std::vector<float> log_sum_exp;  // [batch][heads][queries]
};

Status attend_case(const Case& of, Tensors& tensors) {
  const Frequencies frequencies = frequencies_of(of.pairing);
  return attend_mapped(tensors.out.view(), tensors.q.view(), tensors.k.view(), tensors.v.view(),
                       {.map = of.map,
                        .frequencies = &frequencies,
                        .scale = scale,
                        .left = of.left,
                        .sequences = of.sequences,
                        .q_temperature = of.temperature,
                        .log_sum_exp = tensors.log_sum_exp_view(),
                        .executor = of.executor});
}

reference::Attention described(const Case& of) {
  const Frequencies frequencies = frequencies_of(of.pairing);
  reference::Attention attention{.scale = scale};
  attention.mask = {.order = reference::Order::causal, .left = of.left};
  attention.encoding.rotary = reference::Rotary{
      .window = frequencies.window, .inv_freq = frequencies.inv_freq, .attention_factor = 1.25};
  const auto factor = [&](std::int64_t position) {
    return query_factor(of.temperature, std::max<std::int64_t>(position, 0));
  };
  if (of.sequences.empty()) {
    for (std::int64_t i = 0; i < of.batch * of.queries; ++i)
      attention.query_factors.push_back(factor(of.keys - of.queries + i % of.queries));
    return attention;
  }
  attention.query_positions.assign(static_cast<std::size_t>(of.batch * of.queries), 0);
  attention.key_positions.assign(static_cast<std::size_t>(of.batch * of.keys), 0);
  attention.query_factors.assign(attention.query_positions.size(), 1);
  attention.mask.query_documents.assign(attention.query_positions.size(), -1);
  attention.mask.key_documents.assign(attention.key_positions.size(), -2);
  std::int64_t document = 0;
  for (const AttentionSequence& s : of.sequences) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const auto at = static_cast<std::size_t>(s.batch * of.queries + s.first_query + i);
      attention.query_positions[at] = s.query_position + i;
      attention.query_factors[at] = factor(s.query_position + i);
      attention.mask.query_documents[at] = document;
    }
    for (std::int64_t j = 0; j < s.keys; ++j) {
      const auto at = static_cast<std::size_t>(s.batch * of.keys + s.first_key + j);
      attention.key_positions[at] = s.key_position + j;
      attention.mask.key_documents[at] = document;
    }
    ++document;
  }
  return attention;
}

// Entries of q, k and v are below 1.
AttendedRow row_of(const Case& of, double factor) {
  constexpr std::int64_t farthest = 100100;  // position of any test
  return {.head_dim = head_dim,
          .keys = of.keys,
          .score_size = scale * 1.25 * 1.25 * static_cast<double>(head_dim) * factor,
          .rotation = 2 * rotate_error_bound(Direction::forward, 1.25, farthest)};
}

// The bound of a stored element.
double bound_of(const Case& of, double factor) {
  constexpr std::int64_t most_parts = 6;  // of 5 pairs
  const double units = attend_mapped_error_bound(row_of(of, factor), most_parts);
  return 0x1p-24 * stored_error_bound(of.dtype, units, 1);
}

std::string describe(const Case& of) {
  return "map " + std::to_string(of.map.index()) + " queries " + std::to_string(of.queries) +
         " keys " + std::to_string(of.keys);
}

void expect_definition(const Case& of) {
  SCOPED_TRACE(describe(of));
  Tensors tensors(of);
  const Status status = attend_case(of, tensors);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(tensors.out.guards_intact());
  const reference::Attention attention = described(of);
  const auto wanted = reference::mapped_attention(
      {heads_of(tensors.q), heads_of(tensors.k), heads_of(tensors.v)}, attention, of.map);
  const auto most =
      std::max_element(attention.query_factors.begin(), attention.query_factors.end());
  const double factor = most == attention.query_factors.end() ? 1 : *most;
  const double bound = bound_of(of, factor);
  std::size_t element = 0;
  test::for_each_element(tensors.out.extents(), [&](const HeadIndex& index, std::int64_t f) {
    const double exact = wanted.out.values[element++];
    ASSERT_NEAR(tensors.out.at(index, f), exact, bound)
        << "batch " << index.batch << " query " << index.token << " head " << index.head;
  });
  for (std::size_t row = 0; row < tensors.log_sum_exp.size(); ++row) {
    const double exact = wanted.log_sum_exp[row];
    if (std::isinf(exact)) {
      ASSERT_EQ(tensors.log_sum_exp[row], exact) << "row " << row;
    } else {
      ASSERT_NEAR(tensors.log_sum_exp[row], exact,
                  attend_mapped_log_sum_exp_error_bound(row_of(of, factor), exact))
          << "row " << row;
    }
  }
}

TEST(PositionMaps, AttendAsTheirDefinitionSays) {
  for (const PositionMap& map : maps()) {
    expect_definition({.map = map});
    expect_definition({.map = map, .queries = 3, .keys = 19, .pairing = Pairing::interleaved});
  }
  for (const PositionMap& map :
       {PositionMap{ReRope{200}}, PositionMap{LeakyReRope{30, 3}}, PositionMap{SelfExtend{65, 16}},
        PositionMap{DualChunk{300, 37}}, PositionMap{ClippedAngle{}}}) {
    expect_definition({.map = map, .queries = 9, .keys = 530});
    expect_definition(
        {.map = map, .queries = 20, .keys = 300, .pairing = Pairing::interleaved_to_half});
  }
}

// The whole computation, and its last rows as decode steps.
TEST(PositionMaps, DecodeAsTheWholeDoes) {
  for (const PositionMap& map : maps()) {
    const Case whole{.map = map, .queries = 61, .keys = 61};
    Tensors all(whole);
    ASSERT_TRUE(attend_case(whole, all));
    for (const std::int64_t queries : {1, 2, 9}) {
      Case step = whole;
      step.queries = queries;
      Tensors last(step);
      test::copy_elements(last.k, all.k);
      test::copy_elements(last.v, all.v);
      const std::int64_t first = 61 - queries;
      test::for_each_element(last.q.extents(), [&](const HeadIndex& index, std::int64_t f) {
        last.q.set(index, f, all.q.at({.token = first + index.token, .head = index.head}, f));
      });
      ASSERT_TRUE(attend_case(step, last));
      const double bound = 2 * bound_of(whole, 1);
      test::for_each_element(last.out.extents(), [&](const HeadIndex& index, std::int64_t f) {
        ASSERT_NEAR(last.out.at(index, f),
                    all.out.at({.token = first + index.token, .head = index.head}, f), bound)
            << describe(step);
      });
    }
  }
}

TEST(PositionMaps, SizesNoneAndOne) {
  for (const PositionMap& map : maps()) {
    for (const auto& [queries, keys] : {std::pair{0, 0}, {0, 3}, {3, 0}, {1, 1}, {5, 2}})
      expect_definition({.map = map, .queries = queries, .keys = keys});
    expect_definition({.map = map, .batch = 0});
  }
}

// Maps that keep every distance, over several blocks of queries, in the strides of dual chunk
// attention too.
TEST(PositionMaps, OfNoEffectAreRotaryEmbedding) {
  constexpr std::int64_t tokens = 1100;
  const Frequencies frequencies = frequencies_of(Pairing::half);
  const Rotations rotations =
      test::value_of(make_rotations(frequencies, ConsecutivePositions{.tokens = tokens}));
  const Case plain{.map = ReRope{tokens}, .queries = tokens, .keys = tokens};
  Tensors wanted(plain);
  ASSERT_TRUE(attend(wanted.out.view(), wanted.q.view(), wanted.k.view(), wanted.v.view(),
                     {.scale = scale,
                      .mask = {.order = AttentionOrder::causal},
                      .encoding = {.q_rotations = &rotations, .k_rotations = &rotations}}));
  for (const PositionMap& map :
       {plain.map, PositionMap{LeakyReRope{300, 1}}, PositionMap{SelfExtend{700, 1}},
        PositionMap{DualChunk{2048, 1488}}}) {
    Case of = plain;
    of.map = map;
    Tensors got(of);
    ASSERT_TRUE(attend_case(of, got));
    const double bound = 2 * bound_of(of, 1);
    test::for_each_element(got.out.extents(), [&](const HeadIndex& index, std::int64_t f) {
      ASSERT_NEAR(got.out.at(index, f), wanted.out.at(index, f), bound)
          << describe(of) << " query " << index.token;
    });
  }
}

// Documents far away, before position 0, with queries and keys apart, and without queries.
TEST(PositionMaps, PackedSequencesHavePositionsOfTheirOwn) {
  const std::vector<AttentionSequence> sequences = {
      {0, 0, 20, 0, 20, 100000, 100000}, {0, 22, 18, 20, 30, 12, 0}, {0, 41, 5, 50, 2, 7, 7},
      {1, 3, 30, 5, 50, -30, -40},       {1, 33, 2, 60, 0, 0, 0},    {1, 36, 4, 60, 10, 8, 9}};
  for (const PositionMap& map : maps()) {
    expect_definition({.map = map, .queries = 47, .keys = 71, .batch = 2, .sequences = sequences});
    expect_definition({.map = map, .queries = 9, .keys = 33, .batch = 2, .left = 6});
    expect_definition({.map = map, .left = 0});
    expect_definition({.map = map, .temperature = LognTemperature{.trained_tokens = 16}});
  }
}

TEST(PositionMaps, EveryDtypeLayoutAndExecutor) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Layout layout : {Layout::bhtd, Layout::padded, Layout::reversed_tokens}) {
      expect_definition({.map = SelfExtend{9, 4}, .batch = 2, .dtype = dtype, .layout = layout});
    }
  }
  const Executor executor{.run =
                              [](void*, std::int64_t count, ExecutorTask task, void* state) {
                                for (std::int64_t i = count - 1; i >= 0; --i) task(state, i);
                              },
                          .concurrency = 3};
  for (const PositionMap& map : maps()) {
    Case alone{.map = map, .batch = 2};
    Case cut{.map = map, .batch = 2, .executor = executor};
    Tensors one(alone);
    Tensors other(cut);
    ASSERT_TRUE(attend_case(alone, one));
    ASSERT_TRUE(attend_case(cut, other));
    EXPECT_EQ(one.out.all_bits(), other.out.all_bits()) << describe(alone);
    EXPECT_EQ(one.log_sum_exp, other.log_sum_exp);
  }
}

}  // namespace
}  // namespace rotary
