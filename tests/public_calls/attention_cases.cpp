// SPDX-License-Identifier: Apache-2.0
// Attention of every kind.
#include <array>
#include <cstdint>
#include <numbers>

#include "public_calls/cases.hpp"
#include "public_calls/elements.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

constexpr std::int64_t head_features = 16;
constexpr std::int64_t query_heads = 2;

// Inputs of one call and what it writes to.
struct Tensors {
  explicit Tensors(std::int64_t query_count, std::int64_t key_count)
      : queries(query_count),
        keys(key_count),
        q(query_count * query_heads * head_features),
        k(key_count * query_heads * head_features),
        out(query_count * query_heads * head_features),
        log_sum_exp(query_count * query_heads),
        weights(query_count * query_heads * key_count) {}

  [[nodiscard]] Extents of_queries() const {
    return {.tokens = queries, .heads = query_heads, .features = head_features};
  }
  [[nodiscard]] Extents of_keys() const {
    return {.tokens = keys, .heads = query_heads, .features = head_features};
  }
  [[nodiscard]] std::vector<std::span<std::byte>> outputs() {
    return {out.bytes(), log_sum_exp.bytes(), weights.bytes()};
  }

  std::int64_t queries;
  std::int64_t keys;
  Elements q;
  Elements k;
  Elements out;
  Elements log_sum_exp;
  Elements weights;
};

struct NamedOptions {
  std::string what;
  AttendOptions options;
  std::int64_t queries = 5;
  std::int64_t keys = 9;
};

const RelativeBias& fire() {
  static const RelativeBias bias = Fire{.hidden_weight = std::vector<double>(32, 0.5),
                                        .hidden_bias = std::vector<double>(32, -0.25),
                                        .output_weight = std::vector<double>(query_heads * 32, 0.1),
                                        .output_bias = std::vector<double>(query_heads, 1)};
  return bias;
}

// Every encoding and what else takes memory of its own.
std::vector<NamedOptions> attend_options() {
  static const RelativeBias alibi = Alibi{.heads = query_heads};
  static const RelativeBias sandwich = Sandwich{.dim = 8, .heads = query_heads};
  static Elements vectors(9 * head_features);
  static const ShawTable shaw{.window = {.left = 4, .right = 4},
                              .table = vectors.matrix(9, head_features)};
  static const ShawTable no_window{.window = {.left = -1}, .table = vectors.matrix(1, 1)};
  static const Rotations rotations = rotations_of(
      frequencies_of(
          {.head_dim = head_features, .rotary_dim = head_features, .pairing = Pairing::half}),
      ConsecutivePositions{.tokens = 9});
  const AttendOptions plain{.scale = 0.25, .mask = {.order = AttentionOrder::causal}};
  const auto with = [&](const AttentionEncoding& encoding) {
    AttendOptions options = plain;
    options.encoding = encoding;
    return options;
  };
  AttendOptions cut = plain;
  cut.executor = in_parts();
  std::vector<NamedOptions> named = {
      {"plain", plain},
      {"in parts", cut, 200, 5000},
      {"a decode step in splits", cut, 1, 5000},
      {"rotations", with({.k_rotations = &rotations})},
      {"alibi", with({.bias = &alibi})},
      {"sandwich", with({.bias = &sandwich})},
      {"fire", with({.bias = &fire()})},
      {"shaw", with({.shaw_keys = &shaw, .shaw_values = &shaw})},
      {"shaw without a window", with({.shaw_keys = &no_window})},
      {"no order", {.scale = 0.25, .mask = {}}},
      {"rotations of other tokens", with({.q_rotations = &rotations})},
  };
  named[6].options.executor = in_parts();
  return named;
}

void add_attend(std::vector<Case>& cases) {
  for (const NamedOptions& each : attend_options()) {
    const auto on = std::make_shared<Tensors>(each.queries, each.keys);
    AttendOptions options = each.options;
    if (each.keys < 100) {
      options.log_sum_exp =
          on->log_sum_exp.scores({.heads = query_heads, .queries = each.queries, .keys = 1});
      options.weights =
          on->weights.scores({.heads = query_heads, .queries = each.queries, .keys = each.keys});
    }
    const HeadsView q = on->q.heads(on->of_queries());
    const HeadsView k = on->k.heads(on->of_keys());
    const HeadsView out = on->out.heads(on->of_queries());
    cases.push_back(case_of(
        "rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::ConstHeadsView",
        each.what, [=, shared = on] { return attend(out, q, k, k, options); }, on->outputs()));
    cases.push_back(case_of("rotary::attend_bytes(rotary::ConstHeadsView, rotary::ConstHeadsView",
                            each.what, [=] { return attend_bytes(q, k, k, options); }));
  }
}

void add_paged(std::vector<Case>& cases) {
  static constexpr std::array<std::int32_t, 2> blocks = {1, 0};
  static constexpr std::array sequences = {
      AttentionSequence{.queries = 3, .keys = 7, .query_position = 4}};
  for (const std::int64_t of_sequences : {1, 2}) {
    const auto on = std::make_shared<Tensors>(3, 8);
    const HeadsView q = on->q.heads(on->of_queries());
    const HeadsView pages =
        on->k.heads({.batch = 2, .tokens = 4, .heads = query_heads, .features = head_features});
    const PagedKeys keys{.k = pages,
                         .v = pages,
                         .table = {.blocks = blocks.data(),
                                   .sequences = of_sequences,
                                   .blocks_of_sequence = 2,
                                   .stride = 2}};
    const AttendOptions options{.scale = 0.25,
                                .mask = {.order = AttentionOrder::causal},
                                .encoding = {.bias = &fire()},
                                .sequences = sequences};
    const HeadsView out = on->out.heads(on->of_queries());
    const std::string what = std::to_string(of_sequences) + " sequences";
    cases.push_back(case_of(
        "rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::PagedKeys", what,
        [=, shared = on] { return attend(out, q, keys, options); }, on->outputs()));
    cases.push_back(case_of("rotary::attend_bytes(rotary::ConstHeadsView, rotary::PagedKeys", what,
                            [=, shared = on] { return attend_bytes(q, keys, options); }));
  }
}

void add_mapped(std::vector<Case>& cases) {
  static const Frequencies frequencies = frequencies_of(
      {.head_dim = head_features, .rotary_dim = head_features, .pairing = Pairing::half});
  const std::array<PositionMap, 5> maps = {
      ReRope{.window = 4}, SelfExtend{.neighbors = 4, .group = 2},
      DualChunk{.chunk = 6, .local = 2}, ClippedAngle{}, LeakyReRope{.window = 4}};
  for (const PositionMap& map : maps) {
    const auto on = std::make_shared<Tensors>(9, 9);
    const MappedAttention options{
        .map = map,
        .frequencies = &frequencies,
        .attend = {
            .scale = 0.25, .mask = {.order = AttentionOrder::causal}, .executor = in_parts()}};
    const std::string what = std::to_string(map.index());
    cases.push_back(case_of(
        "rotary::attend_mapped(", what,
        [=] {
          return attend_mapped(on->out.heads(on->of_queries()), on->q.heads(on->of_queries()),
                               on->k.heads(on->of_keys()), on->k.heads(on->of_keys()), options);
        },
        on->outputs()));
    cases.push_back(case_of("rotary::validate(std::variant<rotary::ReRope", what,
                            [map] { return validate(map); }));
  }
  cases.push_back(cannot_fail("rotary::relative_position(",
                              [] { return relative_position(ReRope{.window = 4}, 9, 1, 0.5); }));
}

void add_merge(std::vector<Case>& cases) {
  for (const std::int64_t keys : {1, 2}) {
    const auto into = std::make_shared<Tensors>(3, 2);
    const auto from = std::make_shared<Tensors>(3, 2);
    cases.push_back(case_of(
        "rotary::merge_attention(", std::to_string(keys),
        [=] {
          const ScoresExtents sums{.heads = query_heads, .queries = 3, .keys = keys};
          return merge_attention({.out = into->out.heads(into->of_queries()),
                                  .log_sum_exp = into->log_sum_exp.scores(
                                      {.heads = query_heads, .queries = 3, .keys = 1})},
                                 {.out = from->out.heads(from->of_queries()),
                                  .log_sum_exp = from->weights.scores(sums)});
        },
        into->outputs()));
  }
}

void add_linear(std::vector<Case>& cases) {
  static const Elements directions(head_features * 8);
  const std::array<FeatureMap, 4> maps = {
      EluPlusOne{}, SoftmaxExp{},
      PositiveRandomFeatures{.directions = directions.numbers(), .softmax_scale = 0.25},
      PositiveRandomFeatures{.directions = directions.numbers()}};
  for (const FeatureMap& map : maps) {
    const auto on = std::make_shared<Tensors>(70, 70);
    const LinearHeads on_heads{.q = on->q.heads(on->of_queries()),
                               .k = on->k.heads(on->of_keys()),
                               .v = on->k.heads(on->of_keys())};
    const LinearAttentionOptions options{.mask = LinearMask::causal, .executor = in_parts()};
    const HeadsView out = on->out.heads(on->of_queries());
    const std::string what = std::to_string(map.index());
    cases.push_back(case_of(
        "rotary::linear_attend(", what,
        [=, shared = on] { return linear_attend(out, on_heads, map, options); }, on->outputs()));
    cases.push_back(case_of("rotary::linear_attend_bytes(", what, [=, shared = on] {
      return linear_attend_bytes(on_heads, map, options);
    }));
  }
  for (const std::int64_t head_dim : {4, 0}) {
    cases.push_back(case_of("rotary::make_random_features(", std::to_string(head_dim), [=] {
      return make_random_features({.head_dim = head_dim, .features = 6, .seed = 1});
    }));
  }
}

}  // namespace

std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  add_attend(cases);
  add_paged(cases);
  add_mapped(cases);
  add_merge(cases);
  add_linear(cases);
  return cases;
}

}  // namespace rotary::test
