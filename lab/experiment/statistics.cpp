// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lab/data/batches.hpp"

namespace rotary::lab {
namespace {

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t n) { return values[n]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t n = first; n < end; ++n)
      ranks[order[n]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return ranks;
}

}  // namespace

std::optional<double> spearman(std::span<const double> one, std::span<const double> other) {
  const std::vector<double> first = ranks_of(one);
  const std::vector<double> second = ranks_of(other);
  const double middle = static_cast<double>(std::ssize(first) - 1) / 2;
  double product = 0;
  double first_square = 0;
  double second_square = 0;
  for (std::size_t n = 0; n < first.size(); ++n) {
    product += (first[n] - middle) * (second[n] - middle);
    first_square += (first[n] - middle) * (first[n] - middle);
    second_square += (second[n] - middle) * (second[n] - middle);
  }
  if (first_square == 0 || second_square == 0) return std::nullopt;
  return product / std::sqrt(first_square * second_square);
}

Interval spearman_interval(double correlation, std::int64_t count) noexcept {
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 %
  const double reach = z * std::sqrt(1.06 / static_cast<double>(count - 3));
  const double center = std::atanh(std::clamp(correlation, -1 + 1e-15, 1 - 1e-15));
  return {.low = std::tanh(center - reach), .high = std::tanh(center + reach)};
}

namespace {

// Quantile 0.975 of Student's t by degrees of freedom from 1. With more of them the last one is a
// little too wide.
constexpr std::array<double, 30> t_quantiles = {
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423};

constexpr std::size_t resamples = 10'000;
constexpr std::uint64_t bootstrap_seed = 1979;

double mean_of(std::span<const double> values) noexcept {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::optional<Interval> t_interval(std::span<const double> values) noexcept {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const std::size_t freedom = values.size() - 1;
  const double error =
      std::sqrt(squares / static_cast<double>(freedom) / static_cast<double>(values.size()));
  const double reach = error * t_quantiles[std::min(freedom, t_quantiles.size()) - 1];
  return Interval{.low = mean - reach, .high = mean + reach};
}

std::optional<Interval> bootstrap_interval(std::span<const double> values) {
  if (values.size() < least_windows) return std::nullopt;
  Random random(bootstrap_seed);
  std::vector<double> means(resamples);
  const auto count = static_cast<std::int64_t>(values.size());
  for (double& mean : means) {
    for (std::size_t n = 0; n < values.size(); ++n)
      mean += values[static_cast<std::size_t>(random.below(count))];
    mean /= static_cast<double>(count);
  }
  std::ranges::sort(means);
  constexpr std::size_t cut = resamples / 40;  // 2.5 % on each side
  return Interval{.low = means[cut], .high = means[resamples - 1 - cut]};
}

}  // namespace rotary::lab
