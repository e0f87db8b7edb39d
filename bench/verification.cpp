// SPDX-License-Identifier: Apache-2.0
#include "bench/verification.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/forms.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t most_sampled_tokens = 32;

// The other feature of a rotated feature's pair, in the order that the call writes.
std::int64_t partner(const HeadWindow& window, Direction direction, std::int64_t feature) {
  const std::int64_t i = feature - window.first_feature;
  const bool forward = direction == Direction::forward;
  if ((forward ? reference::writes_neighbours : reference::reads_neighbours)(window.pairing))
    return window.first_feature + (i ^ 1);
  return window.first_feature + (i + window.pairs()) % window.rotary_dim;
}

bool rotates(const HeadWindow& window, std::int64_t feature) {
  return feature >= window.first_feature && feature < window.first_feature + window.rotary_dim;
}

// The error bound of one element, in units of 2^-24 hypot(exact pair).
struct Bound {
  DType dtype;
  Direction direction;
  double attention_factor;
  double position;

  [[nodiscard]] double at(double hypot) const {
    switch (dtype) {
      case DType::f32:
        return rotate_error_bound(direction, attention_factor, position);
      case DType::bf16:
        return rotate_bf16_error_bound(direction, attention_factor, position);
      case DType::f16:
        return rotate_f16_error_bound(direction, attention_factor, position, hypot);
      case DType::f64:
        return rotate_f64_error_bound(direction, attention_factor, position) * 0x1p-29;
    }
    return 0;
  }
};

void check_head(Verification& result, const ConstHeadsView& after, const HeadWindow& window,
                const reference::RotatedHead& head, const Bound& bound) {
  for (std::int64_t feature = 0; feature < window.head_dim; ++feature) {
    const auto exact = static_cast<double>(head.exact[static_cast<std::size_t>(feature)]);
    const double off = std::abs(reference::element(after, head.index, feature) - exact);
    const double error = std::isnan(off) ? HUGE_VAL : off;  // a NaN is the worst of all
    ++result.elements;
    if (!rotates(window, feature)) {
      result.wrong += error == 0 ? 0 : 1;
      continue;
    }
    const auto other = static_cast<std::size_t>(partner(window, bound.direction, feature));
    const double hypot = std::hypot(exact, static_cast<double>(head.exact[other]));
    const double unit = 0x1p-24 * hypot;
    const double most = bound.at(hypot);
    const double units = unit > 0 ? error / unit : (error > 0 ? most * 2 + 1 : 0);
    result.bound = std::max(result.bound, most);
    result.wrong += units <= most ? 0 : 1;
    if (units > result.worst) {
      result.worst = units;
      result.worst_position = static_cast<std::int64_t>(bound.position);
      result.worst_head = head.index.head;
      result.worst_feature = feature;
    }
  }
}

// The token's coordinate that is farthest from 0, because bounds grow with it.
double farthest(const ExactRotation& rotation, const reference::HeadIndex& of) {
  long double position = 0;
  for (std::int64_t axis = 0; axis < rotation.frequencies.axes.count; ++axis) {
    const long double at = reference::position_at(rotation.positions, of.batch, of.token, axis);
    if (std::abs(at) > std::abs(position)) position = at;
  }
  return static_cast<double>(position);
}

}  // namespace

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
  reference::for_each_rotated_head(
      tensor.before, rotation.rows, exact, [&](const reference::RotatedHead& head) {
        const Bound bound{.dtype = tensor.after.dtype,
                          .direction = rotation.direction,
                          .attention_factor = frequencies.attention_factor,
                          .position = farthest(rotation, head.index)};
        check_head(result, tensor.after, frequencies.window, head, bound);
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
