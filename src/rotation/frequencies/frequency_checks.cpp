// SPDX-License-Identifier: Apache-2.0
#include "rotation/frequencies/frequency_checks.hpp"

#include <cmath>
#include <cstdint>
#include <variant>

#include "base/enumerators.hpp"
#include "base/message.hpp"
#include "phase/turns.hpp"
#include "rotation/frequencies/phase_steps.hpp"

namespace rotary {

Status validate(const HeadWindow& window) {
  if (!is_enumerator(window.pairing.get())) return no_enumerator("pairing", window.pairing.get());
  if (window.head_dim < 2 || window.head_dim > max_head_dim) {
    return invalid_argument("head_dim must be in 2..", max_head_dim, ", got ", window.head_dim);
  }
  if (window.first_feature < 0 || window.first_feature > window.head_dim - 2) {
    return invalid_argument("first_feature must be in 0..", window.head_dim - 2,
                            " (head_dim - 2), got ", window.first_feature);
  }
  const std::int64_t room = window.head_dim - window.first_feature;
  if (window.rotary_dim < 2 || window.rotary_dim > room || window.rotary_dim % 2 != 0) {
    return invalid_argument("rotary_dim must be even and in 2..", room,
                            " (head_dim - first_feature), got ", window.rotary_dim);
  }
  return {};
}

Status validate_attention_factor(double attention_factor) {
  if (attention_factor >= 0x1p-20 && attention_factor <= 0x1p20) return {};
  return invalid_argument("attention_factor must be in [2^-20, 2^20], got ", attention_factor);
}

Status validate_inv_freq(const HeadWindow& window, std::span<const double> inv_freq) {
  if (static_cast<std::int64_t>(inv_freq.size()) != window.pairs()) {
    return invalid_argument("inv_freq must have one entry for each pair, ", window.pairs(),
                            "; got ", inv_freq.size());
  }
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    if (std::abs(inv_freq[pair]) < max_inv_freq) continue;
    return invalid_argument("inv_freq must be in (-2^40, 2^40), got ", inv_freq[pair], " for pair ",
                            pair);
  }
  return {};
}

// Positions between integers and xPos use inv_freq itself; all others use turns and steps, which
// are derived from it.
Status validate(const Frequencies& frequencies, const Positions& positions) {
  if (auto status = validate(frequencies.window); !status) return status;
  const std::int64_t pairs = frequencies.window.pairs();
  if (static_cast<std::int64_t>(frequencies.turns.size()) != pairs) {
    return invalid_argument("frequencies.turns must have one entry for each pair, ", pairs,
                            "; got ", frequencies.turns.size());
  }
  if (frequencies.steps.size() != phase_step_count(pairs)) {
    return invalid_argument("frequencies.steps must be those of make_frequencies, ",
                            phase_step_count(pairs), " entries; got ", frequencies.steps.size());
  }
  if (frequencies.xpos || std::holds_alternative<TokenArray<double>>(positions)) {
    auto status = validate_inv_freq(frequencies.window, frequencies.inv_freq);
    if (!status) return status;
  }
  return validate_attention_factor(frequencies.attention_factor);
}

}  // namespace rotary
