// SPDX-License-Identifier: Apache-2.0
// Merges two attentions of the same queries over disjoint keys by their log-sum-exp: a shared
// prefix and its continuation, or parts of a context on several machines.
//
//   merge_attention({out, log_sum_exp}, {out_of_suffix, log_sum_exp_of_suffix});
#pragma once

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// A result of attend(): out [batch, queries, heads, features], f32, bf16 or f16, features adjacent;
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

// `into` becomes the attention over the keys of both parts, which must be different keys:
//     l = ln(e^a + e^b),  out = e^(a - l) out_into + e^(b - l) out_from
// with a and b the two log_sum_exp. A part without keys (-Inf) changes nothing; if `into` is such a
// part, `from` is copied; two such parts stay zeros and -Inf. Given these inputs, out is exact to
// 2^-48 * max(|out_into|, |out_from|), and l to 2^-48, before each is rounded once to its dtype. If
// a and b are off by e together, that changes out by at most e / 4 * |out_into - out_from|, because
// the steepest slope of a weight is 1/4.
//
// The two outs may differ in dtype. The elements of `into` are distinct and shared with no other
// view. Allocates nothing. Errors: invalid_argument, with the requirement and what was got;
// unsupported for f64. On an error nothing has been written.
[[nodiscard]] ROTARY_API Status merge_attention(const AttentionPart& into,
                                                const ConstAttentionPart& from) noexcept;

}  // namespace rotary
