// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/step_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace rotary::lab {
namespace {

constexpr double deviations_of_a_spike = 7;

bool is_spike(double value, std::span<const double> before) {
  const auto count = static_cast<double>(before.size());
  const double mean = std::accumulate(before.begin(), before.end(), 0.0) / count;
  double squares = 0;
  for (const double each : before) squares += (each - mean) * (each - mean);
  return value - mean >= deviations_of_a_spike * std::sqrt(squares / count);
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

double spike_share(std::span<const double> values, std::int64_t window) {
  if (values.empty()) return 0;
  const auto most = static_cast<std::size_t>(window);
  std::int64_t spikes = 0;
  for (std::size_t n = std::max<std::size_t>(1, most / 2); n < values.size(); ++n) {
    const std::size_t before = std::min(n, most);
    spikes += is_spike(values[n], values.subspan(n - before, before)) ? 1 : 0;
  }
  return static_cast<double>(spikes) / static_cast<double>(values.size());
}

std::map<std::string, double> stability_metrics(const StepSeries& series, std::int64_t window) {
  const std::vector<double>& validation = series.validation_losses;
  const bool diverged =
      !validation.empty() && validation.back() > std::ranges::min(validation) + divergence_nats;
  std::map<std::string, double> metrics = {{"diverged", diverged ? 1 : 0}};
  if (series.losses.empty()) return metrics;
  metrics["loss_spikes"] = spike_share(series.losses, window);
  metrics["gradient_spikes"] = spike_share(series.gradient_norms, window);
  metrics["gradient_norm"] = median(series.gradient_norms);
  metrics["largest_gradient_norm"] = std::ranges::max(series.gradient_norms);
  return metrics;
}

}  // namespace rotary::lab
