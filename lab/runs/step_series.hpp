// SPDX-License-Identifier: Apache-2.0
// The individual steps of a training, and how stable they were.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace rotary::lab {

struct StepSeries {
  // For each step: the batch's loss before the update, in nats, and the unclipped gradients' norm.
  std::vector<double> losses;
  std::vector<double> gradient_norms;
  std::vector<double> validation_losses;  // per line of the log
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepSeries, losses, gradient_norms, validation_losses)

[[nodiscard]] double median(std::vector<double> values);

// The share of values at least seven standard deviations above the mean of the `window` values
// before them. It is the spike score of OLMo 2 (arXiv 2501.00656) with shorter windows, for shorter
// trainings. Values with less than half a window before them do not count.
[[nodiscard]] double spike_share(std::span<const double> values, std::int64_t window);

// A training diverged if it ends this many nats above its lowest validation loss.
inline constexpr double divergence_nats = 0.5;

// "loss_spikes" and "gradient_spikes": shares of steps; "gradient_norm" and
// "largest_gradient_norm": median and maximum; "diverged": 0 or 1. Without steps only "diverged".
[[nodiscard]] std::map<std::string, double> stability_metrics(const StepSeries& series,
                                                              std::int64_t window);

}  // namespace rotary::lab
