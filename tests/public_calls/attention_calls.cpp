// SPDX-License-Identifier: Apache-2.0
// Attention of every kind.
#include <algorithm>
#include <array>
#include <tuple>

#include "public_calls/call.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

// Batch, queries, heads, features, keys, heads and features of values.
SizeList attention_sizes(std::int64_t queries, std::int64_t keys) {
  return {{}, {queries}, {2}, each(16), {keys}, {2}, each(16)};
}

struct Heads {
  HeadsView out, q, k, v;

  explicit Heads(Sizes n)
      : out(heads({n[0], n[1], n[2], n[6]})),
        q(heads({n[0], n[1], n[2], n[3]})),
        k(heads({n[0], n[4], n[5], n[3]})),
        v(heads({n[0], n[4], n[5], n[6]})) {}
};

// The encodings of the ways, made before any call.
struct Encodings {
  RelativeBias alibi = Alibi{.heads = 2};
  RelativeBias sandwich = Sandwich{.dim = 8, .heads = 2};
  RelativeBias fire = Fire{.hidden_weight = std::vector<double>(32, 0.5),
                           .hidden_bias = std::vector<double>(32, -0.25),
                           .output_weight = std::vector<double>(64, 0.1),
                           .output_bias = std::vector<double>(2, 1)};
  Rotations rotations = rotations_of(frequencies_of_16(), ConsecutivePositions{.tokens = 9});
};

const Encodings& encodings() {
  static const Encodings all;
  return all;
}

enum class Asked { out, everything };

// Options that point into this object, which must not move.
struct AttendOperands : Heads {
  AttendOperands(Sizes n, Asked asked)
      : Heads(n),
        shaw{.window = {.left = 1, .right = 1}, .table = table(3, n[6])},
        no_window{.window = {.left = -1}, .table = table(1, 1)} {
    options = {.scale = 0.25, .mask = {.order = AttentionOrder::causal}, .executor = in_parts()};
    if (asked == Asked::out) return;
    options.log_sum_exp = scores({n[0], n[2], n[1], 1});
    options.weights = scores({n[0], n[2], n[1], n[4]});
  }
  AttendOperands(const AttendOperands&) = delete;
  AttendOperands& operator=(const AttendOperands&) = delete;

  ShawTable shaw;
  ShawTable no_window;
  AttendOptions options;
};

struct Way {
  std::string_view what;
  void (*set)(AttendOperands&);
  Asked asked = Asked::everything;
  std::int64_t queries = 5;
  std::int64_t keys = 9;
};

constexpr Way ways[] = {
    {"plain", [](AttendOperands&) {}, Asked::out},
    {"with weights", [](AttendOperands&) {}},
    {"in parts", [](AttendOperands&) {}, Asked::out, 200, 5000},
    {"a decode step in splits", [](AttendOperands&) {}, Asked::out, 1, 5000},
    {"rotations",
     [](AttendOperands& on) { on.options.encoding.k_rotations = &encodings().rotations; }},
    {"alibi", [](AttendOperands& on) { on.options.encoding.bias = &encodings().alibi; }},
    {"sandwich", [](AttendOperands& on) { on.options.encoding.bias = &encodings().sandwich; }},
    {"fire and shaw",
     [](AttendOperands& on) {
       on.options.mask.order = AttentionOrder::bidirectional;
       on.options.encoding.bias = &encodings().fire;
       on.options.encoding.shaw_values = &on.shaw;
     }},
    {"shaw",
     [](AttendOperands& on) {
       on.options.encoding.shaw_keys = &on.shaw;
       on.options.encoding.shaw_values = &on.shaw;
     }},
    {"shaw without a window",
     [](AttendOperands& on) { on.options.encoding.shaw_keys = &on.no_window; }},
    {"no order", [](AttendOperands& on) { on.options.mask = {}; }},
    {"rotations of other tokens",
     [](AttendOperands& on) { on.options.encoding.q_rotations = &encodings().rotations; }},
};

Calls attend_calls() {
  Calls calls;
  static_cast<void>(encodings());
  for (const Way& way : ways) {
    SizeList sizes = attention_sizes(way.queries, way.keys);
    if (way.keys > 1000) {  // to fill them again for each choice takes long
      for (Size& size : sizes) size.held = Held::fixed;
    }
    calls.push_back(
        sized("rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::ConstHeadsView",
              way.what, sizes, [way](Sizes n) {
                AttendOperands on(n, way.asked);
                way.set(on);
                return attend(on.out, on.q, on.k, on.v, on.options);
              }));
    calls.push_back(sized("rotary::attend_bytes(rotary::ConstHeadsView, rotary::ConstHeadsView",
                          way.what, sizes, [way](Sizes n) {
                            AttendOperands on(n, way.asked);
                            way.set(on);
                            return attend_bytes(on.q, on.k, on.v, on.options);
                          }));
  }
  return calls;
}

// The same with queries of one sequence, keys in pages: blocks and slots, sequences of the table
// and blocks of each.
struct PagedOperands : AttendOperands {
  PagedOperands(Sizes n, Asked asked)
      : AttendOperands(n, asked), sequence{.queries = n[1], .keys = n[4]} {
    k.extents.batch = v.extents.batch = n[7];
    keys = {.k = heads(k.extents),
            .v = heads(v.extents),
            .table = {.blocks = numbers<std::int32_t>(n[8] == 1 ? 1 : 0).data(),
                      .sequences = n[8],
                      .blocks_of_sequence = n[9],
                      .stride = 0}};
    options.sequences = {&sequence, n[8] == 1 ? std::size_t{1} : std::size_t{0}};
    if (options.weights) options.weights->extents.keys = n[9] == 1 ? n[4] : 0;
    if (asked == Asked::everything) {
      options.encoding = {.bias = &encodings().fire, .shaw_values = &shaw};
    }
  }

  AttentionSequence sequence;
  PagedKeys keys;
};

Calls paged_calls() {
  Calls calls;
  const SizeList sizes = {{2}, {2}, {2}, each(16), {3}, {2}, each(16), {2}, {1}, each(1)};
  for (const Asked asked : {Asked::out, Asked::everything}) {
    const std::string_view what = asked == Asked::out ? "out" : "everything";
    calls.push_back(
        sized("rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::PagedKeys", what,
              sizes, [asked](Sizes n) {
                const PagedOperands on(n, asked);
                return attend(on.out, on.q, on.keys, on.options);
              }));
    calls.push_back(sized("rotary::attend_bytes(rotary::ConstHeadsView, rotary::PagedKeys", what,
                          sizes, [asked](Sizes n) {
                            const PagedOperands on(n, asked);
                            return attend_bytes(on.q, on.keys, on.options);
                          }));
  }
  return calls;
}

// Keys and values in 8 bits, in batch rows and in pages.
Calls quantized_calls() {
  Calls calls;
  const std::string_view symbol =
      "rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::QuantizedKeys";
  const std::string_view bytes = "rotary::attend_bytes(rotary::ConstHeadsView, rotary::Quantized";
  for (const Way& way : ways) {
    if (way.keys > 1000) continue;
    const auto keys_of = [](const AttendOperands& on) {
      return QuantizedKeys{.k = quantized(on.k.extents), .v = quantized(on.v.extents)};
    };
    const SizeList sizes = attention_sizes(way.queries, way.keys);
    calls.push_back(sized(symbol, way.what, sizes, [way, keys_of](Sizes n) {
      AttendOperands on(n, way.asked);
      way.set(on);
      return attend(on.out, on.q, keys_of(on), on.options);
    }));
    calls.push_back(sized(bytes, way.what, sizes, [way, keys_of](Sizes n) {
      AttendOperands on(n, way.asked);
      way.set(on);
      return attend_bytes(on.q, keys_of(on), on.options);
    }));
  }
  const SizeList sizes = {{2}, {2}, {2}, each(16), {3}, {2}, each(16), {2}, {1}, each(1)};
  calls.push_back(sized(symbol, "pages", sizes, [](Sizes n) {
    const PagedOperands on(n, Asked::out);
    const QuantizedKeys keys{.k = quantized(on.keys.k.extents),
                             .v = quantized(on.keys.v.extents),
                             .table = on.keys.table};
    return attend(on.out, on.q, keys, on.options);
  }));
  return calls;
}

// A sequence of the first batch row, or no sequences.
enum class Named { none, one };

Call mapped_call(const PositionMap& map, Named named) {
  const std::string what =
      std::to_string(map.index()) + (named == Named::one ? ", a sequence" : "");
  return sized("rotary::attend_mapped(", what, attention_sizes(9, 9), [=](Sizes n) {
    const Heads on(n);
    const AttentionSequence one{.queries = std::min<std::int64_t>(n[1], 1),
                                .keys = std::min<std::int64_t>(n[4], 1)};
    MappedAttention options{
        .map = map,
        .frequencies = &frequencies_of_16(),
        .attend = {
            .scale = 0.25, .mask = {.order = AttentionOrder::causal}, .executor = in_parts()}};
    if (named == Named::one) options.attend.sequences = {&one, 1};
    options.attend.log_sum_exp = scores({n[0], n[2], n[1], 1});
    return attend_mapped(on.out, on.q, on.k, on.v, options);
  });
}

Calls mapped_calls() {
  Calls calls = {without_sizes("rotary::relative_position(", "",
                               [] { return relative_position(ReRope{.window = 4}, 9, 1, 0.5); }),
                 without_sizes("rotary::key_fetching()", "", key_fetching)};
  const std::array<PositionMap, 5> maps = {
      ReRope{.window = 4}, SelfExtend{.neighbors = 4, .group = 2},
      DualChunk{.chunk = 6, .local = 2}, ClippedAngle{}, LeakyReRope{.window = 4}};
  for (const PositionMap& map : maps) {
    for (const Named named : {Named::none, Named::one}) calls.push_back(mapped_call(map, named));
    calls.push_back(without_sizes("rotary::validate(std::variant<rotary::ReRope",
                                  std::to_string(map.index()), [map] { return validate(map); }));
  }
  return calls;
}

// Batch, queries, heads, features, columns of the sums.
Call merge_call() {
  return sized("rotary::merge_attention(", "", {{}, {3}, {2}, each(16), {1}}, [](Sizes n) {
    const Extents out{n[0], n[1], n[2], n[3]};
    const ScoresExtents sums{n[0], n[2], n[1], n[4]};
    return merge_attention({heads(out), scores(sums)}, {heads(out), scores(sums)});
  });
}

enum class With { nothing, state, segments };

// A state is memory that exists, so large sizes have none.
std::optional<LinearState> state_of(Sizes n) {
  for (const std::size_t i : {0U, 3U, 5U, 6U}) {
    if (n[i] > 16 || n[i] < 0) return {};
  }
  const std::int64_t key_heads = n[0] * n[5];
  return LinearState{.values = numbers<double>(key_heads * n[3] * n[6]),
                     .keys = numbers<double>(key_heads * n[3]),
                     .exponents = numbers<double>(key_heads)};
}

LinearAttentionOptions linear_options(Sizes n, LinearMask mask, With with) {
  LinearAttentionOptions options{.mask = mask, .executor = in_parts()};
  if (with == With::state) options.state = state_of(n);
  if (with == With::segments) {
    options.segments = SegmentMap{.data = numbers<std::int32_t>(n[4] > 0 ? 1 : 0).data(),
                                  .batch = 1,
                                  .tokens = n[4],
                                  .token_stride = 0};
  }
  return options;
}

void add_linear(Calls& calls, const FeatureMap& map, LinearMask mask, With with) {
  const std::string what = std::to_string(map.index()) +
                           (mask == LinearMask::causal ? " causal " : " bidirectional ") +
                           std::to_string(static_cast<int>(with));
  const SizeList sizes = attention_sizes(70, 70);
  calls.push_back(sized("rotary::linear_attend(", what, sizes, [=](Sizes n) {
    const Heads on(n);
    return linear_attend(on.out, {on.q, on.k, on.v}, map, linear_options(n, mask, with));
  }));
  calls.push_back(sized("rotary::linear_attend_bytes(", what, sizes, [=](Sizes n) {
    const Heads on(n);
    return linear_attend_bytes({on.q, on.k, on.v}, map, linear_options(n, mask, with));
  }));
}

Calls linear_calls() {
  const std::span<const float> directions = pattern<float>().first(16 * 8);
  const std::array<FeatureMap, 4> maps = {
      EluPlusOne{}, SoftmaxExp{},
      PositiveRandomFeatures{.directions = directions, .softmax_scale = 0.25},
      PositiveRandomFeatures{.directions = directions}};
  Calls calls = {sized("rotary::make_random_features(", "", {{4}, {6}}, [](Sizes n) {
    return make_random_features({.head_dim = n[0], .features = n[1], .seed = 1});
  })};
  for (const LinearMask mask : {LinearMask::causal, LinearMask::bidirectional}) {
    for (const FeatureMap& map : maps) add_linear(calls, map, mask, With::nothing);
    for (const With with : {With::state, With::segments}) {
      add_linear(calls, EluPlusOne{}, mask, with);
    }
  }
  return calls;
}

}  // namespace

Calls attention_calls() {
  Calls calls = {merge_call()};
  for (const auto more : {attend_calls, paged_calls, quantized_calls, mapped_calls, linear_calls}) {
    add(calls, more());
  }
  return calls;
}

}  // namespace rotary::test
