// SPDX-License-Identifier: Apache-2.0
// Merges attentions of the same queries over disjoint sets of keys by their log-sum-exp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernels.hpp"
#include "rotary/executor.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The result of one attention, with views of it for attend(): [batch, tokens, heads, features].
class PartialResult {
 public:
  // Requires a number of elements that fits int64.
  explicit PartialResult(const Extents& extents);

  [[nodiscard]] HeadsView values() noexcept;
  [[nodiscard]] ScoresView log_sum_exp() noexcept;
  [[nodiscard]] const float* values_of(std::int64_t row) const noexcept;
  [[nodiscard]] float log_sum_exp_of(std::int64_t row) const noexcept;

 private:
  Extents extents_;
  std::vector<float> values_;
  std::vector<float> log_sum_exp_;  // [batch, tokens, heads]
};

struct ResultViews {
  HeadsView out;
  std::optional<ScoresView> log_sum_exp;
};

class MergedResult {
 public:
  // Begins as the attention over no keys.
  explicit MergedResult(const Extents& extents);

  void merge(const PartialResult& partial, const Executor& executor) noexcept;

  // Rounds once, to out's dtype.
  void store(const ResultViews& to, const kernels::KernelTable& kernels) const noexcept;

 private:
  void merge_row(const PartialResult& partial, std::int64_t row) noexcept;

  Extents extents_;
  std::vector<float> values_;
  // Double, because each merge rounds it, and its absolute error is the relative error of weights.
  std::vector<double> log_sum_exp_;
};

}  // namespace rotary
