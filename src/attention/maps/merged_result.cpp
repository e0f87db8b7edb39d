// SPDX-License-Identifier: Apache-2.0
// out = Σ_p w_p out_p with w_p = exp(lse_p - lse) and lse = ln Σ_p exp(lse_p), one p at a time.
#include "attention/maps/merged_result.hpp"

#include <algorithm>
#include <limits>

#include "attention/attend/merge_weights.hpp"
#include "attention/cache/token_run.hpp"
#include "runtime/parts.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

std::size_t rows_of(const Extents& n) {
  return static_cast<std::size_t>(n.batch * n.tokens * n.heads);
}

std::size_t elements_of(const Extents& n) {
  return rows_of(n) * static_cast<std::size_t>(n.features);
}

}  // namespace

PartialResult::PartialResult(const Extents& extents)
    : extents_(extents), values_(elements_of(extents)), log_sum_exp_(rows_of(extents)) {}

HeadsView PartialResult::values() noexcept {
  return {.data = values_.data(),
          .dtype = DType::f32,
          .extents = extents_,
          .strides = strides_bthd(extents_)};
}

ScoresView PartialResult::log_sum_exp() noexcept {
  return {
      .data = log_sum_exp_.data(),
      .dtype = DType::f32,
      .extents = {.batch = extents_.batch,
                  .heads = extents_.heads,
                  .queries = extents_.tokens,
                  .keys = 1},
      .strides = {.batch = extents_.tokens * extents_.heads, .head = 1, .query = extents_.heads}};
}

const float* PartialResult::values_of(std::int64_t row) const noexcept {
  return values_.data() + row * extents_.features;
}

float PartialResult::log_sum_exp_of(std::int64_t row) const noexcept {
  return log_sum_exp_[static_cast<std::size_t>(row)];
}

MergedResult::MergedResult(const Extents& extents)
    : extents_(extents),
      values_(elements_of(extents)),
      log_sum_exp_(rows_of(extents), -std::numeric_limits<double>::infinity()) {}

void MergedResult::merge_row(const PartialResult& partial, std::int64_t row) noexcept {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const double added = partial.log_sum_exp_of(row);
  if (added == none) return;
  double& sum = log_sum_exp_[static_cast<std::size_t>(row)];
  float* const into = values_.data() + row * extents_.features;
  const float* const from = partial.values_of(row);
  if (sum == none) {
    sum = added;
    std::copy_n(from, extents_.features, into);
    return;
  }
  const MergeWeights weights = merge_weights(sum, added);
  const auto kept = static_cast<float>(weights.into);
  const auto taken = static_cast<float>(weights.from);
  for (std::int64_t f = 0; f < extents_.features; ++f) into[f] = kept * into[f] + taken * from[f];
  sum = weights.log_sum_exp;
}

void MergedResult::merge(const PartialResult& partial, const Executor& executor) noexcept {
  struct Merge {
    MergedResult& into;
    const PartialResult& partial;
  } merge{*this, partial};
  const auto rows = [](const void* state, TokenRange range) noexcept {
    const Merge& of = *static_cast<const Merge*>(state);
    const std::int64_t heads = of.into.extents_.heads;
    for (std::int64_t row = range.begin * heads; row < range.end * heads; ++row)
      of.into.merge_row(of.partial, row);
  };
  run_in_parts(extents_.batch * extents_.tokens, {.apply = rows, .state = &merge}, executor);
}

void MergedResult::store(const ResultViews& to,
                         const kernels::KernelTable& kernels) const noexcept {
  const ConstHeadsView values{.data = values_.data(),
                              .dtype = DType::f32,
                              .extents = extents_,
                              .strides = strides_bthd(extents_)};
  for (std::int64_t batch = 0; batch < extents_.batch; ++batch) {
    Transfer transfer{.dst = to.out, .src = values};
    transfer.dst.extents.batch = transfer.src.extents.batch = 1;
    transfer.dst.data = static_cast<std::byte*>(to.out.data) +
                        batch * to.out.strides.batch * size_in_bytes(to.out.dtype);
    transfer.src.data = values_.data() + batch * values.strides.batch;
    if (has_elements(transfer.src.extents))
      store_features(transfer, 0, extents_.features, *kernels.cache);
  }
  if (!to.log_sum_exp) return;
  const ScoresStrides& strides = to.log_sum_exp->strides;
  std::size_t row = 0;
  for (std::int64_t batch = 0; batch < extents_.batch; ++batch) {
    for (std::int64_t token = 0; token < extents_.tokens; ++token) {
      for (std::int64_t head = 0; head < extents_.heads; ++head) {
        static_cast<float*>(to.log_sum_exp->data)[batch * strides.batch + token * strides.query +
                                                  head * strides.head] =
            static_cast<float>(log_sum_exp_[row++]);
      }
    }
  }
}

}  // namespace rotary
