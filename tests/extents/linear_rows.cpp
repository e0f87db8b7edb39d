// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "extents/places.hpp"
#include "extents/rows.hpp"
#include "rotary/linear_attention.hpp"

namespace rotary::test {
namespace {

constexpr Size head{.natural = 4, .held = Held::each};

// Batch, queries, heads, features, keys, heads and features of values.
const std::vector<Size> linear_sizes = {{}, {}, {}, head, {}, {}, head};

enum class With { nothing, state, segments };

// A state is memory that exists, so large sizes have none.
std::optional<LinearState> state_of(Sizes n) {
  for (const std::size_t i : std::array<std::size_t, 4>{0, 3, 5, 6}) {
    if (n[i] > 4) return {};
  }
  const std::int64_t key_heads = n[0] * n[5];
  return LinearState{.values = numbers<double>(key_heads * n[3] * n[6]),
                     .keys = numbers<double>(key_heads * n[3]),
                     .exponents = numbers<double>(key_heads)};
}

struct LinearCase {
  HeadsView out;
  LinearHeads heads;
  LinearAttentionOptions options;
};

LinearCase case_of(Sizes n, LinearMask mask, With with) {
  LinearCase of{.out = heads({n[0], n[1], n[2], n[6]}),
                .heads = {.q = heads({n[0], n[1], n[2], n[3]}),
                          .k = heads({n[0], n[4], n[5], n[3]}),
                          .v = heads({n[0], n[4], n[5], n[6]})},
                .options = {.mask = mask}};
  if (with == With::state) of.options.state = state_of(n);
  if (with == With::segments) {
    of.options.segments = SegmentMap{.data = numbers<std::int32_t>(n[4] > 0 ? 1 : 0).data(),
                                     .batch = 1,
                                     .tokens = n[4],
                                     .token_stride = 0};
  }
  return of;
}

Rows rows_with(LinearMask mask, With with) {
  return {{"rotary::linear_attend(", linear_sizes,
           [=](Sizes n) {
             const LinearCase of = case_of(n, mask, with);
             return linear_attend(of.out, of.heads, EluPlusOne{}, of.options);
           }},
          {"rotary::linear_attend_bytes(", linear_sizes, [=](Sizes n) {
             const LinearCase of = case_of(n, mask, with);
             return status_of(linear_attend_bytes(of.heads, SoftmaxExp{}, of.options));
           }}};
}

}  // namespace

Rows linear_rows() {
  Rows all;
  for (const LinearMask mask : {LinearMask::causal, LinearMask::bidirectional}) {
    for (const With with : {With::nothing, With::state, With::segments})
      for (Row& row : rows_with(mask, with)) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace rotary::test
