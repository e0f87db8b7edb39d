// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/attention.hpp"
#include "rotary/merge_attention.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::test {
namespace {

constexpr Size head{.natural = 4, .held = Held::each};

// A bias for one head.
const RelativeBias& fire_of_one_head() {
  static const RelativeBias fire(Fire{.hidden_weight = {0.5, -1},
                                      .hidden_bias = {-0.1, 0.2},
                                      .output_weight = {0.5, 0.5},
                                      .output_bias = {0.1}});
  return fire;
}

enum class Asked { out, everything };

struct Operands {
  HeadsView out;
  HeadsView q;
  HeadsView k;
  HeadsView v;
  ShawTable shaw;
};

// Batch, queries, heads, features, keys, heads and features of values.
const std::vector<Size> sizes_of_attention = {{4}, {2}, {1}, head, {3}, {1}, head};

Operands operands(Sizes n) {
  return {.out = heads({n[0], n[1], n[2], n[6]}),
          .q = heads({n[0], n[1], n[2], n[3]}),
          .k = heads({n[0], n[4], n[5], n[3]}),
          .v = heads({n[0], n[4], n[5], n[6]}),
          .shaw = {.window = {.left = 1, .right = 1}, .table = matrix(3, n[6])}};
}

AttendOptions options_of(Sizes n, Asked asked, const Operands& of) {
  AttendOptions options{.scale = 1, .mask = {.order = AttentionOrder::bidirectional}};
  if (asked == Asked::out) return options;
  options.log_sum_exp = scores({n[0], n[2], n[1], 1});
  options.weights = scores({n[0], n[2], n[1], n[4]});
  options.encoding.bias = &fire_of_one_head();
  options.encoding.shaw_values = &of.shaw;
  return options;
}

Rows attend_rows(Asked asked) {
  return {
      {"rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::ConstHeadsView",
       sizes_of_attention,
       [=](Sizes n) {
         const Operands of = operands(n);
         return attend(of.out, of.q, of.k, of.v, options_of(n, asked, of));
       }},
      {"rotary::attend_bytes(rotary::ConstHeadsView, rotary::ConstHeadsView", sizes_of_attention,
       [=](Sizes n) {
         const Operands of = operands(n);
         return status_of(attend_bytes(of.q, of.k, of.v, options_of(n, asked, of)));
       }},
  };
}

// The same with queries of one sequence, keys in pages: blocks and slots, sequences of the table
// and blocks of each.
struct Paged {
  Operands of;
  PagedKeys keys;
  std::vector<AttentionSequence> sequences;
  AttendOptions options;

  Paged(Sizes n, Asked asked) : of(operands(n)), options(options_of(n, asked, of)) {
    const std::int64_t blocks = n[7];
    const std::int64_t listed = n[8];
    of.k.extents.batch = of.v.extents.batch = blocks;
    keys = {.k = heads(of.k.extents), .v = heads(of.v.extents), .table = {}};
    keys.table = {.blocks = numbers<std::int32_t>(listed == 1 ? 1 : 0).data(),
                  .sequences = listed,
                  .blocks_of_sequence = n[9],
                  .stride = 0};
    if (listed == 1) sequences = {{.queries = n[1], .keys = n[4]}};
    options.sequences = sequences;
    if (options.weights) options.weights->extents.keys = n[9] == 1 ? n[4] : 0;
  }
};

const std::vector<Size> sizes_of_pages = {{2}, {2},  {1}, head, {3},
                                          {1}, head, {2}, {1},  {1, Held::each}};

Rows paged_rows(Asked asked) {
  return {
      {"rotary::attend(rotary::HeadsView, rotary::ConstHeadsView, rotary::PagedKeys",
       sizes_of_pages,
       [=](Sizes n) {
         const Paged paged(n, asked);
         return attend(paged.of.out, paged.of.q, paged.keys, paged.options);
       }},
      {"rotary::attend_bytes(rotary::ConstHeadsView, rotary::PagedKeys", sizes_of_pages,
       [=](Sizes n) {
         const Paged paged(n, asked);
         return status_of(attend_bytes(paged.of.q, paged.keys, paged.options));
       }},
  };
}

// A sequence of the first batch row, or no sequences.
enum class Named { none, one };

Row mapped_row(const PositionMap& map, Named named) {
  return {"rotary::attend_mapped(", sizes_of_attention, [=](Sizes n) {
            const Operands of = operands(n);
            const AttentionSequence one{.queries = std::min<std::int64_t>(n[1], 1),
                                        .keys = std::min<std::int64_t>(n[4], 1)};
            MappedAttention options{
                .map = map,
                .frequencies = &frequencies_of_4(),
                .attend = {.scale = 1, .mask = {.order = AttentionOrder::causal}}};
            if (named == Named::one) options.attend.sequences = {&one, 1};
            options.attend.log_sum_exp = scores({n[0], n[2], n[1], 1});
            return attend_mapped(of.out, of.q, of.k, of.v, options);
          }};
}

// Batch, queries, heads, features.
Row merge_row() {
  return {"rotary::merge_attention(", {{}, {}, {}, head}, [](Sizes n) {
            const Extents out{n[0], n[1], n[2], n[3]};
            const ScoresExtents sums{n[0], n[2], n[1], 1};
            return merge_attention({heads(out), scores(sums)}, {heads(out), scores(sums)});
          }};
}

}  // namespace

Rows attention_rows() {
  Rows all = {merge_row()};
  for (const Asked asked : {Asked::out, Asked::everything}) {
    for (Rows& rows : std::array{attend_rows(asked), paged_rows(asked)})
      for (Row& row : rows) all.push_back(std::move(row));
  }
  for (const PositionMap& map :
       {PositionMap(ReRope{.window = 2}), PositionMap(DualChunk{.chunk = 4, .local = 1})}) {
    all.push_back(mapped_row(map, Named::none));
    all.push_back(mapped_row(map, Named::one));
  }
  return all;
}

}  // namespace rotary::test
