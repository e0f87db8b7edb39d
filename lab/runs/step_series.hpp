// SPDX-License-Identifier: Apache-2.0
// The steps of a training one by one, and how stable they were.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rotary::lab {

struct StepSeries {
  // For each step: the loss of its batch before the step, in nats, and the length of all gradients
  // together before they are clipped.
  std::vector<double> losses;
  std::vector<double> gradient_norms;
  std::vector<double> validation_losses;  // for each line of the log
};

// The share of the values that are at least seven standard deviations above the mean of the
// `window` values before them: after the spike score of OLMo 2 (arXiv 2501.00656), with shorter
// windows for shorter trainings. Values with fewer than half a window before them are no spikes.
[[nodiscard]] double spike_share(std::span<const double> values, std::int64_t window);

// A training that ends this many nats above its least validation loss has diverged.
inline constexpr double divergence_nats = 0.5;

// "loss_spikes" and "gradient_spikes", shares of the steps; "gradient_norm" and
// "largest_gradient_norm", the median and the largest; "diverged", 0 or 1. For a series without a
// step "diverged" alone.
[[nodiscard]] std::map<std::string, double> stability_metrics(const StepSeries& series,
                                                              std::int64_t window);

}  // namespace rotary::lab
