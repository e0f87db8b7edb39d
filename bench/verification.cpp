// SPDX-License-Identifier: Apache-2.0
#include "bench/verification.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/rotated.hpp"
#include "check/views.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t most_sampled_tokens = 32;

void check_head(Verification& result, const ConstHeadsView& after, const ExactRotation& rotation,
                const reference::RotatedHead& head) {
  const Frequencies& frequencies = rotation.frequencies;
  const HeadWindow& window = frequencies.window;
  const std::vector<double> got = check::head_at(after, head.index);
  for (std::size_t f = 0; f < got.size(); ++f) {
    if (check::turns(window, static_cast<std::int64_t>(f))) continue;
    ++result.elements;
    result.wrong += got[f] == head.exact[f] ? 0 : 1;
  }
  check::Rotated by{.dtype = after.dtype,
                    .direction = rotation.direction,
                    .attention_factor = frequencies.attention_factor};
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    by.position = reference::bounding_position(rotation.positions, head.index, frequencies.axes,
                                               static_cast<std::size_t>(pair));
    const auto [x, y] = check::features_written(window, rotation.direction, pair);
    const long double hypot = std::hypot(head.exact[static_cast<std::size_t>(x)],
                                         head.exact[static_cast<std::size_t>(y)]);
    const double bound = check::error_bound(by, hypot);
    for (const std::int64_t feature : {x, y}) {
      const auto f = static_cast<std::size_t>(feature);
      result.add(check::error_units(by, got[f], head.exact[f], hypot), bound,
                 static_cast<std::int64_t>(by.position), head.index.head, feature);
    }
  }
}

}  // namespace

void Verification::add(double error, double most, std::int64_t position, std::int64_t head,
                       std::int64_t feature) {
  ++elements;
  wrong += error <= most ? 0 : 1;
  bound = std::max(bound, most);
  if (error <= worst) return;
  worst = error;
  worst_position = position;
  worst_head = head;
  worst_feature = feature;
}

void Verification::merge(const Verification& other) {
  elements += other.elements;
  wrong += other.wrong;
  bound = std::max(bound, other.bound);
  if (other.worst <= worst) return;
  worst = other.worst;
  worst_position = other.worst_position;
  worst_head = other.worst_head;
  worst_feature = other.worst_feature;
}

Verification verify(const RotatedTensor& tensor, const ExactRotation& rotation) {
  Verification result;
  const Frequencies& frequencies = rotation.frequencies;
  const reference::TensorRotation exact{.window = frequencies.window,
                                        .attention_factor = frequencies.attention_factor,
                                        .direction = rotation.direction};
  reference::for_each_rotated_head(tensor.before, rotation.rows, exact,
                                   [&](const reference::RotatedHead& head) {
                                     check_head(result, tensor.after, rotation, head);
                                   });
  return result;
}

std::vector<std::int64_t> sampled_tokens(std::int64_t tokens) {
  const std::int64_t count = std::min(tokens, most_sampled_tokens);
  std::vector<std::int64_t> sampled;
  for (std::int64_t i = 0; i < count; ++i) {
    sampled.push_back(count == 1 ? 0 : i * (tokens - 1) / (count - 1));
  }
  return sampled;
}

Sample take_sample(const ConstHeadsView& view) {
  std::vector<std::int64_t> tokens = sampled_tokens(view.extents.tokens);
  Tensor values = gather(view, tokens);
  return {.tokens = std::move(tokens), .values = std::move(values)};
}

Verification verify(const Sample& before, const ConstHeadsView& after,
                    const SampledRotation& rotation) {
  std::vector<std::int64_t> positions;
  for (const std::int64_t token : before.tokens) {
    positions.push_back(rotation.first_position + token * rotation.positions_per_token);
  }
  const Positions given = positions_of(positions);
  const reference::AngleRows rows(given, rotation.frequencies.inv_freq);
  const Tensor gathered = gather(after, before.tokens);
  return verify({.before = before.values.view(), .after = gathered.view()},
                {.frequencies = rotation.frequencies,
                 .rows = rows,
                 .positions = given,
                 .direction = rotation.direction});
}

}  // namespace rotary::bench
