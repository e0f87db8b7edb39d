// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

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

}  // namespace rotary::lab
