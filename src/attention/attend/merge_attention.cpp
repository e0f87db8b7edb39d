// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_checks.hpp"
#include "attention/attend/merge_weights.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/attention.hpp"
#include "tensor/element_runs.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

Status check_out(std::string_view name, const ConstHeadsView& view) {
  if (auto status = check_view(name, view); !status) return status;
  if (view.dtype == DType::f64)
    return unsupported(name, ": dtype must be f32, bf16 or f16, got f64");
  return check_adjacent_features(name, view);
}

Status check_log_sum_exp(std::string_view name, const ConstScoresView& view, const Extents& n) {
  const ConstHeadsView scores = heads_view(view);
  const Extents wanted{.batch = n.batch, .tokens = n.tokens, .heads = n.heads, .features = 1};
  if (auto status = check_scores(name, scores, wanted); !status) return status;
  return check_view(name, scores);
}

Status check_parts(const AttentionPart& into, const ConstAttentionPart& from) {
  if (auto status = check_out("into.out", into.out); !status) return status;
  if (auto status = check_out("from.out", from.out); !status) return status;
  if (from.out.extents != into.out.extents) {
    return invalid_argument("from.out: extents must be those of into.out, ",
                            describe(into.out.extents), "; got ", describe(from.out.extents));
  }
  const Extents& n = into.out.extents;
  if (auto status = check_log_sum_exp("into.log_sum_exp", into.log_sum_exp, n); !status)
    return status;
  return check_log_sum_exp("from.log_sum_exp", from.log_sum_exp, n);
}

struct Named {
  std::string_view name;
  ConstHeadsView view;
};

Status check_written(const AttentionPart& into, const ConstAttentionPart& from) {
  const Named written[] = {{"into.out", without_unused_strides(ConstHeadsView(into.out))},
                           {"into.log_sum_exp", heads_view(into.log_sum_exp)}};
  const Named read[] = {{"from.out", without_unused_strides(from.out)},
                        {"from.log_sum_exp", heads_view(from.log_sum_exp)}};
  for (const Named& to : written) {
    if (auto status = check_distinct(to.name, to.view); !status) return status;
    for (const Named& of : read) {
      if (auto status = check_apart(to.name, to.view, of.name, of.view); !status) return status;
    }
  }
  return check_apart(written[0].name, written[0].view, written[1].name, written[1].view);
}

// Does not multiply `into` by a weight of 0, because `into` may hold Inf.
void merge_head(const ElementRun& into, const ConstElementRun& from, const MergeWeights& weights) {
  RunValues sum;
  RunValues added;
  load_run({into.data, into.dtype, into.stride, into.count}, sum.data());
  load_run(from, added.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(into.count); ++i) {
    sum[i] = weights.into == 0 ? added[i] : weights.into * sum[i] + weights.from * added[i];
  }
  store_run(sum.data(), into);
}

void merge_row(const AttentionPart& into, const ConstAttentionPart& from, const QueryPlace& at) {
  float* const log_sum_exp =
      static_cast<float*>(into.log_sum_exp.data) + score_offset(into.log_sum_exp.strides, at);
  const double added =
      static_cast<const float*>(from.log_sum_exp.data)[score_offset(from.log_sum_exp.strides, at)];
  if (std::isinf(added) && added < 0) return;  // merge_weights() requires at least one key
  const MergeWeights weights = merge_weights(*log_sum_exp, added);
  if (weights.from == 0) return;
  for (std::int64_t first = 0; first < into.out.extents.features; first += run_features) {
    const std::int64_t count = std::min(run_features, into.out.extents.features - first);
    std::byte* const to = head_at(into.out, at.batch, at.token, at.head);
    const std::byte* const of = head_at(from.out, at.batch, at.token, at.head);
    merge_head({to + first * size_in_bytes(into.out.dtype), into.out.dtype, 1, count},
               {of + first * size_in_bytes(from.out.dtype), from.out.dtype, 1, count}, weights);
  }
  *log_sum_exp = static_cast<float>(weights.log_sum_exp);
}

}  // namespace

Status merge_attention(const AttentionPart& into, const ConstAttentionPart& from) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check_parts(into, from); !status) return status;
    if (auto status = check_written(into, from); !status) return status;
    const Extents& n = into.out.extents;
    if (n.batch == 0 || n.tokens == 0 || n.heads == 0) return {};
    QueryPlace at;
    for (at.batch = 0; at.batch < n.batch; ++at.batch) {
      for (at.token = 0; at.token < n.tokens; ++at.token) {
        for (at.head = 0; at.head < n.heads; ++at.head) merge_row(into, from, at);
      }
    }
    return {};
  });
}

}  // namespace rotary
