// SPDX-License-Identifier: Apache-2.0
// Calls of attend(), attend_mapped(), linear_attend() and merge_attention().
#include <algorithm>
#include <array>

#include "check/attend_call.hpp"
#include "public_calls/call.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

// Sizes: batch, queries, heads, features, keys, key heads, features of values.
SizeList attention_sizes(std::int64_t queries, std::int64_t keys) {
  return {{}, {queries}, {2}, each(16), {keys}, {2}, each(16)};
}

// The relative biases and rotations for the calls in `ways`, made before any call.
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

// A call whose options point into this object, which must not move.
struct AttendOperands : check::AttendCall {
  explicit AttendOperands(Sizes of, Asked asked = Asked::out)
      : n(of),
        shaw{.window = {.left = 1, .right = 1}, .table = test::table(3, n[6])},
        no_window{.window = {.left = -1}, .table = test::table(1, 1)},
        sequence{.queries = n[1], .keys = n[4]} {
    out = heads_at<0, 1, 2, 6>(n);
    q = heads_at<0, 1, 2, 3>(n);
    k = heads_at<0, 4, 5, 3>(n);
    v = heads_at<0, 4, 5, 6>(n);
    options = {.scale = 0.25, .mask = {.order = AttentionOrder::causal}, .executor = in_parts()};
    if (asked == Asked::out) return;
    options.log_sum_exp = scores({n[0], n[2], n[1], 1});
    options.weights = scores_at<0, 2, 1, 4>(n);
  }
  AttendOperands(const AttendOperands&) = delete;
  AttendOperands& operator=(const AttendOperands&) = delete;

  Sizes n;
  ShawTable shaw;
  ShawTable no_window;
  AttentionSequence sequence;
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
    {"rotations", [](auto& on) { on.options.encoding.k_rotations = &encodings().rotations; }},
    {"alibi", [](auto& on) { on.options.encoding.bias = &encodings().alibi; }},
    {"sandwich", [](auto& on) { on.options.encoding.bias = &encodings().sandwich; }},
    {"fire and shaw",
     [](auto& on) {
       on.options.mask.order = AttentionOrder::bidirectional;
       on.options.encoding = {.bias = &encodings().fire, .shaw_values = &on.shaw};
     }},
    {"shaw",
     [](auto& on) { on.options.encoding = {.shaw_keys = &on.shaw, .shaw_values = &on.shaw}; }},
    {"shaw without a window", [](auto& on) { on.options.encoding.shaw_keys = &on.no_window; }},
    {"no order", [](auto& on) { on.options.mask = {}; }},
    {"rotations of other tokens",
     [](auto& on) { on.options.encoding.q_rotations = &encodings().rotations; }},
};

// Puts keys into pages, for queries of one sequence. Sizes from the eighth on: blocks, sequences of
// the table, blocks of each sequence.
void page(AttendOperands& on) {
  const Sizes n = on.n;
  on.k = heads_at<7, 4, 5, 3>(n);
  on.v = heads_at<7, 4, 5, 6>(n);
  on.table = {.blocks = numbers<std::int32_t>(n[8] == 1 ? 1 : 0).data(),
              .sequences = n[8],
              .blocks_of_sequence = n[9],
              .stride = 0};
  on.options.sequences = {&on.sequence, n[8] == 1 ? std::size_t{1} : std::size_t{0}};
  if (!on.options.weights) return;
  on.options.weights->extents.keys = n[9] == 1 ? n[4] : 0;
  on.options.encoding = {.bias = &encodings().fire, .shaw_values = &on.shaw};
}

constexpr Way paged_ways[] = {{"out", page, Asked::out}, {"everything", page}};
const SizeList paged_sizes = {{2}, {2}, {2}, each(16), {3}, {2}, each(16), {2}, {1}, each(1)};

// function: check::run or check::bytes_for.
template <class Function>
auto attending(const Way& way, Function function) {
  return [=](Sizes n) {
    AttendOperands on(n, way.asked);
    way.set(on);
    return function(on);
  };
}
template <class Function>
auto attending_in_int8(const Way& way, Function function) {
  return attending(way, [function](AttendOperands& on) {
    on.set_quantized(quantized(on.k.extents), quantized(on.v.extents));
    return function(on);
  });
}

constexpr std::string_view attend_heads =
    "rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::ConstHeadsView";
constexpr std::string_view attend_pages =
    "rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::PagedKeys";
constexpr std::string_view attend_8_bits =
    "rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::QuantizedKeys";

// Keys and values in batch rows and in pages, as floats and as int8.
Calls attend_calls() {
  Calls calls;
  static_cast<void>(encodings());
  for (const Way& way : ways) {
    Adding add{calls, std::string(way.what), attention_sizes(way.queries, way.keys)};
    const bool is_long = way.keys > 1000;
    if (is_long) {  // filling long tensors for each choice of sizes takes long
      for (Size& size : add.sizes) size.held = Held::fixed;
    }
    add(attend_heads, attending(way, check::run));
    add("rotary::attend_bytes(rotary::ConstHeadsView, rotary::ConstHeadsView",
        attending(way, check::bytes_for));
    if (is_long) continue;
    add(attend_8_bits, attending_in_int8(way, check::run));
    add("rotary::attend_bytes(rotary::ConstHeadsView, rotary::Quantized",
        attending_in_int8(way, check::bytes_for));
  }
  for (const Way& way : paged_ways) {
    const Adding add{calls, std::string(way.what), paged_sizes};
    add(attend_pages, attending(way, check::run));
    add("rotary::attend_bytes(rotary::ConstHeadsView, rotary::PagedKeys",
        attending(way, check::bytes_for));
  }
  calls.emplace_back(attend_8_bits, "pages", paged_sizes,
                     attending_in_int8({"pages", page, Asked::out}, check::run));
  return calls;
}

// sequences: 1 if queries and keys belong to a sequence of the first batch row, else 0.
void add_mapped(Calls& calls, const PositionMap& map, std::size_t sequences) {
  const std::string what = std::to_string(map.index()) + (sequences == 1 ? ", a sequence" : "");
  calls.emplace_back("rotary::attend_mapped(", what, attention_sizes(9, 9), [=](Sizes n) {
    AttendOperands on(n);
    on.map = map;
    on.frequencies = &frequencies_of_16();
    on.sequence = {.queries = std::min<std::int64_t>(n[1], 1),
                   .keys = std::min<std::int64_t>(n[4], 1)};
    if (sequences == 1) on.options.sequences = {&on.sequence, 1};
    on.options.log_sum_exp = scores({n[0], n[2], n[1], 1});
    return run(on);
  });
}

Calls mapped_calls() {
  Calls calls = {{"rotary::relative_position(",
                  [] { return relative_position(ReRope{.window = 4}, 9, 1, 0.5); }},
                 {"rotary::key_fetching()", key_fetching}};
  const std::array<PositionMap, 5> maps = {
      ReRope{.window = 4}, SelfExtend{.neighbors = 4, .group = 2},
      DualChunk{.chunk = 6, .local = 2}, ClippedAngle{}, LeakyReRope{.window = 4}};
  for (const PositionMap& map : maps) {
    for (const std::size_t sequences : {0U, 1U}) add_mapped(calls, map, sequences);
    calls.emplace_back("rotary::validate(std::variant<rotary::ReRope", std::to_string(map.index()),
                       [map] { return validate(map); });
  }
  return calls;
}

// A state needs real memory, so calls with large sizes have none.
std::optional<LinearState> state_of(Sizes n) {
  for (const std::size_t i : {0U, 3U, 5U, 6U}) {
    if (n[i] > 16 || n[i] < 0) return {};
  }
  const std::int64_t key_heads = n[0] * n[5];
  return LinearState{.values = numbers<double>(key_heads * n[3] * n[6]),
                     .keys = numbers<double>(key_heads * n[3]),
                     .exponents = numbers<double>(key_heads)};
}

enum class With { nothing, state, segments };

void add_linear(Calls& calls, const FeatureMap& map, LinearMask mask, With with) {
  const auto options = [=](Sizes n) {
    LinearAttentionOptions all{.mask = mask, .executor = in_parts()};
    if (with == With::state) all.state = state_of(n);
    if (with == With::segments) {
      all.segments = SegmentMap{.data = numbers<std::int32_t>(n[4] > 0 ? 1 : 0).data(),
                                .batch = 1,
                                .tokens = n[4],
                                .token_stride = 0};
    }
    return all;
  };
  const std::string what = std::to_string(map.index()) +
                           (mask == LinearMask::causal ? " causal " : " bidirectional ") +
                           std::to_string(static_cast<int>(with));
  const Adding add{calls, what, attention_sizes(70, 70)};
  add("rotary::linear_attend(", [=](Sizes n) {
    const AttendOperands on(n);
    return linear_attend(on.out, {on.q, on.k, on.v}, map, options(n));
  });
  add("rotary::linear_attend_bytes(", [=](Sizes n) {
    const AttendOperands on(n);
    return linear_attend_bytes({on.q, on.k, on.v}, map, options(n));
  });
}

Calls linear_calls() {
  const std::span<const float> directions = pattern<float>().first(16 * 8);
  const std::array<FeatureMap, 4> maps = {
      EluPlusOne{}, SoftmaxExp{},
      PositiveRandomFeatures{.directions = directions, .softmax_scale = 0.25},
      PositiveRandomFeatures{.directions = directions}};
  Calls calls = {{"rotary::make_random_features(", "", {{4}, {6}}, [](Sizes n) {
                    return make_random_features({.head_dim = n[0], .features = n[1], .seed = 1});
                  }}};
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
  const auto out = heads_at<0, 1, 2, 3>;
  const auto sums = scores_at<0, 2, 1, 4>;
  // Sizes: batch, queries, heads, features, columns of the sums.
  Calls calls = {{"rotary::merge_attention(", "", {{}, {3}, {2}, each(16), {1}}, [=](Sizes n) {
                    return merge_attention({out(n), sums(n)}, {out(n), sums(n)});
                  }}};
  for (const auto more : {attend_calls, mapped_calls, linear_calls}) add(calls, more());
  return calls;
}

}  // namespace rotary::test
