// SPDX-License-Identifier: Apache-2.0
#include "identify/distance.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace rotary::identification {
namespace {

double square_of(std::span<const double> vector) {
  return std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0);
}

// The longest vector, as a sample of one token. Padding vectors are 0 and tell nothing.
Sample longest_of(const Sample& sample) {
  std::size_t longest = 0;
  double most = -1;
  for (std::size_t row = 0; row < sample.tokens * sample.heads; ++row) {
    const double square = square_of(sample.row(sample.before, 0, row));
    if (square > most) {
      most = square;
      longest = row;
    }
  }
  const auto head = sample.row(sample.before, 0, longest);
  return {.observed = sample.observed,
          .dtype = sample.dtype,
          .tokens = 1,
          .heads = 1,
          .features = sample.features,
          .before = {head.begin(), head.end()},
          .after = {},
          .axes = max_axes,
          .positions = std::vector<double>(max_axes),
          .head_indices = {sample.head_indices[longest % sample.heads]}};
}

}  // namespace

std::optional<std::int64_t> first_visible(const Operation& one, const Operation& other,
                                          const Start& start, Coordinates coordinates) {
  const auto turning = turning_of(one, start.context_tokens);
  const auto other_turning = turning_of(other, start.context_tokens);
  if (!turning || !other_turning) return std::nullopt;
  Sample single = longest_of(start.sample);
  const double noise = 3 * rounding_noise(single.dtype);
  const auto visible = [&](std::int64_t position) {
    for (std::size_t axis = 0; axis < single.axes; ++axis) {
      const std::size_t steps = axis * (axis + 5) / 2;  // 0, 3, 7, 12, …
      single.positions[axis] = static_cast<double>(position);
      if (coordinates == Coordinates::grid) single.positions[axis] += static_cast<double>(steps);
    }
    predict({one, *turning}, single, single.after);
    const double limit = noise * noise * square_of(single.after);
    return squared_error({other, *other_turning}, single, limit) > limit;
  };
  std::int64_t hidden = -1;
  for (std::int64_t p = 0; p < (std::int64_t{1} << 20); p += std::max<std::int64_t>(1, p / 10)) {
    if (!visible(p)) {
      hidden = p;
      continue;
    }
    std::int64_t shown = p;
    while (shown - hidden > 1) {
      const std::int64_t middle = hidden + (shown - hidden) / 2;
      (visible(middle) ? shown : hidden) = middle;
    }
    return shown;
  }
  return std::nullopt;
}

}  // namespace rotary::identification
