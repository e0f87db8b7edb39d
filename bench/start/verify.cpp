// SPDX-License-Identifier: Apache-2.0
#include "bench/start/verify.hpp"

#include <algorithm>
#include <cmath>

#include "rotary/numeric_contract.hpp"

namespace rotary::bench {
namespace {

// The other feature of the pair that a rotated feature belongs to.
std::int64_t partner(const HeadWindow& window, std::int64_t feature) {
  const std::int64_t i = feature - window.first_feature;
  if (window.pairing == Pairing::interleaved) return window.first_feature + (i ^ 1);
  return window.first_feature + (i + window.pairs()) % window.rotary_dim;
}

double bound_at(DType dtype, double attention_factor, std::int64_t position) {
  return dtype == DType::bf16
             ? rotate_bf16_error_bound(Direction::forward, attention_factor, position)
             : rotate_error_bound(Direction::forward, attention_factor, position);
}

bool rotates(const HeadWindow& window, std::int64_t feature) {
  return feature >= window.first_feature && feature < window.first_feature + window.rotary_dim;
}

}  // namespace

void Verification::merge(const Verification& other) {
  elements += other.elements;
  wrong += other.wrong;
  bound = std::max(bound, other.bound);
  if (other.worst <= worst) return;
  worst = other.worst;
  worst_head = other.worst_head;
  worst_feature = other.worst_feature;
}

Verification verify(const RotatedTensor& tensor, const Frequencies& frequencies,
                    const reference::AngleRows& rows, Progress& progress) {
  Verification result;
  const HeadWindow& window = frequencies.window;
  const reference::TensorRotation rotation{.window = window,
                                           .attention_factor = frequencies.attention_factor,
                                           .direction = Direction::forward};
  reference::for_each_rotated_head(
      tensor.before, rows, rotation, [&](const reference::RotatedHead& head) {
        const double bound =
            bound_at(tensor.after.dtype, frequencies.attention_factor, head.index.token);
        result.bound = std::max(result.bound, bound);
        for (std::int64_t feature = 0; feature < window.head_dim; ++feature) {
          const auto exact = static_cast<double>(head.exact[static_cast<std::size_t>(feature)]);
          const double error =
              std::abs(reference::element(tensor.after, head.index, feature) - exact);
          ++result.elements;
          if (!rotates(window, feature)) {
            result.wrong += error == 0 ? 0 : 1;
            continue;
          }
          const auto other = static_cast<std::size_t>(partner(window, feature));
          const double unit = 0x1p-24 * std::hypot(exact, static_cast<double>(head.exact[other]));
          const double units = unit > 0 ? error / unit : (error > 0 ? bound * 2 : 0);
          result.wrong += units <= bound ? 0 : 1;  // a NaN counts as wrong
          if (units > result.worst) {
            result.worst = units;
            result.worst_head = head.index;
            result.worst_feature = feature;
          }
        }
        progress.advance();
      });
  return result;
}

}  // namespace rotary::bench
