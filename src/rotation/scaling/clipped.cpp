// SPDX-License-Identifier: Apache-2.0
// Clipped RoPE: arXiv 2602.05258; modeling_cope.py of hrlics/CoPE.
#include <cmath>
#include <numbers>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

// (1 + cos t) / 2 with t = π clipped / (clipped_pairs - 1). Computed as sin²((π - t) / 2), because
// 1 + cos t would cancel near t = π.
double kept_part(std::int64_t clipped, const ClippedScaling& rule) {
  if (rule.edge == ClippedEdge::hard) return 0;
  if (rule.clipped_pairs == 1) return 1;
  const auto last = static_cast<double>(rule.clipped_pairs - 1);
  const double sine =
      std::sin(std::numbers::pi / 2 * ((last - static_cast<double>(clipped)) / last));
  return sine * sine;
}

}  // namespace

Status validate(const ClippedScaling& rule, const UnscaledRotary& rotary) {
  const std::int64_t pairs = rotary.rotary_dim / 2;
  if (rule.clipped_pairs <= pairs) return {};
  return invalid_argument("clipped_pairs must be in [1, ", pairs, "], got ", rule.clipped_pairs);
}

ScaledFrequencies scale(const ClippedScaling& rule, const UnscaledRotary& rotary) {
  auto inv_freq = unscaled_inv_freq(rotary);
  const auto first = inv_freq.size() - static_cast<std::size_t>(rule.clipped_pairs);
  for (std::size_t pair = first; pair < inv_freq.size(); ++pair) {
    inv_freq[pair] *= kept_part(static_cast<std::int64_t>(pair - first), rule);
  }
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
