// SPDX-License-Identifier: Apache-2.0
// Two attentions of the same queries over keys that are apart, brought together by their
// log-sum-exp: a shared prefix and what follows it, parts of a context on several machines.
#pragma once

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// What attend() made: out [batch, queries, heads, features], f32, bf16 or f16, features adjacent;
// log_sum_exp [batch, heads, queries, 1], f32.
struct AttentionPart {
  HeadsView out;
  ScoresView log_sum_exp;
};

// The same, to read.
struct ConstAttentionPart {
  ConstHeadsView out;
  ConstScoresView log_sum_exp;
};

// into becomes the attention over the keys of both, which must be different keys:
//     l = ln(e^a + e^b),  out = e^(a - l) out_into + e^(b - l) out_from
// with a and b the two log_sum_exp. A part without keys (-Inf) changes nothing; into such a part
// the other one is copied; two of them stay zeros and -Inf. Of the numbers that are given, out is
// exact but for 2^-48 * max(|out_into|, |out_from|), and l but for 2^-48, before each is rounded
// once to its dtype. If a and b are off by e together, that changes out by at most e / 4 *
// |out_into - out_from|, the steepest slope of a weight being 1/4.
//
// The dtypes of both outs may differ. Views of into are distinct in memory and share no element
// with others. Allocates nothing. Errors: invalid_argument, with the requirement and what was got;
// unsupported for f64. On an error nothing has been written.
[[nodiscard]] ROTARY_API Status merge_attention(const AttentionPart& into,
                                                const ConstAttentionPart& from) noexcept;

}  // namespace rotary
