// SPDX-License-Identifier: Apache-2.0
// The learner of triplets, sections, same_document and similarity: masked_lm's transformer, with
// segment embeddings added to its input and a head over the segments' mean outputs.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "lab/torch/learner.hpp"

namespace rotary::lab {

// Metrics of similarity are "spearman" and its 95 % interval, "spearman_low" to "spearman_high".
// Metrics of other tasks are "accuracy" and its interval, "accuracy_low" to "accuracy_high";
// same_document also has "f1" of the answer yes. All have "examples" and "documents". The intervals
// treat examples as independent, although examples from one document are not.
[[nodiscard]] std::unique_ptr<Learner> make_choice(const Cell& cell, const Dataset& data);

// A 95 % confidence interval.
struct Interval {
  double low = 0;
  double high = 0;
};

// The interval of the true share (Wilson 1927), for count > 0 independent answers.
[[nodiscard]] Interval wilson_interval(std::int64_t right, std::int64_t count) noexcept;

// Spearman's rank correlation: Pearson's correlation of ranks, where equal values share their mean
// rank. Absent if one side has a single value. one, other: [count].
[[nodiscard]] std::optional<double> spearman(const at::Tensor& one, const at::Tensor& other);

// The interval of a Spearman correlation of count > 3 pairs: Fisher's transformation with variance
// 1.06 / (count - 3) (Fieller, Hartley and Pearson 1957).
[[nodiscard]] Interval spearman_interval(double correlation, std::int64_t count) noexcept;

}  // namespace rotary::lab
