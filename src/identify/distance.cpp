// SPDX-License-Identifier: Apache-2.0
#include "identify/distance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rotary::identification {
namespace {

// Indices of the longest vector. Padding vectors are 0 and tell nothing.
struct Longest {
  std::size_t token = 0;
  std::size_t head = 0;
};

Longest longest_of(const Sample& sample) {
  Longest longest;
  double most = -1;
  for (std::size_t token = 0; token < sample.tokens; ++token) {
    for (std::size_t head = 0; head < sample.heads; ++head) {
      const auto row = sample.row(sample.before, token, head);
      const double length = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
      if (length > most) {
        most = length;
        longest = {token, head};
      }
    }
  }
  return longest;
}

}  // namespace

Distance::Distance(const Operation& one, const Operation& other, const Start& start)
    : one_(one), other_(other), noise_(3 * rounding_noise(start.sample.dtype)) {
  if (auto turning = turning_of(one, start.context_tokens)) turning_ = *std::move(turning);
  if (auto turning = turning_of(other, start.context_tokens)) other_turning_ = *std::move(turning);
  const Sample& sample = start.sample;
  const Longest longest = longest_of(sample);
  const auto head = sample.row(sample.before, longest.token, longest.head);
  single_ = {.observed = sample.observed,
             .dtype = sample.dtype,
             .tokens = 1,
             .heads = 1,
             .features = sample.features,
             .before = {head.begin(), head.end()},
             .after = {},
             .axes = max_axes,
             .positions = std::vector<double>(max_axes),
             .head_indices = {sample.head_indices[longest.head]}};
}

bool Distance::visible(std::int64_t position, bool on_grid) {
  for (std::size_t axis = 0; axis < single_.axes; ++axis) {
    const auto steps = static_cast<std::int64_t>(axis * (axis + 5) / 2);  // 0, 3, 7, 12, …
    single_.positions[axis] = static_cast<double>(position + (on_grid ? steps : 0));
  }
  predict({one_, *turning_}, single_, predicted_);
  predict({other_, *other_turning_}, single_, other_predicted_);
  double apart = 0;
  double whole = 0;
  for (std::size_t i = 0; i < predicted_.size(); ++i) {
    const double difference = predicted_[i] - other_predicted_[i];
    apart += difference * difference;
    whole += predicted_[i] * predicted_[i];
  }
  return apart > noise_ * noise_ * whole;
}

std::optional<std::int64_t> Distance::first_visible(bool on_grid) {
  if (!turning_ || !other_turning_) return std::nullopt;
  std::int64_t hidden = -1;
  for (std::int64_t p = 0; p < (std::int64_t{1} << 20); p += std::max<std::int64_t>(1, p / 10)) {
    if (!visible(p, on_grid)) {
      hidden = p;
      continue;
    }
    std::int64_t shown = p;
    while (shown - hidden > 1) {
      const std::int64_t middle = hidden + (shown - hidden) / 2;
      (visible(middle, on_grid) ? shown : hidden) = middle;
    }
    return shown;
  }
  return std::nullopt;
}

}  // namespace rotary::identification
