// SPDX-License-Identifier: Apache-2.0
#include "rotation/frequencies/frequency_checks.hpp"

#include <cmath>
#include <cstdint>
#include <variant>

#include "base/enumerators.hpp"
#include "base/message.hpp"
#include "phase/turns.hpp"
#include "rotation/frequencies/pair_axes.hpp"
#include "rotation/frequencies/phase_steps.hpp"

namespace rotary {
namespace {

Status check_blocks(const HeadWindow& window) {
  if (window.blocks == 1) return {};
  if (window.blocks < 1 || window.pairs() % window.blocks != 0) {
    return invalid_argument("blocks must divide rotary_dim / 2, ", window.pairs(), "; got ",
                            window.blocks);
  }
  if (window.pairing.get() == Pairing::half) return {};
  return invalid_argument("blocks must be 1 for pairing ", to_string(window.pairing.get()),
                          ", got ", window.blocks);
}

}  // namespace

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
  return check_blocks(window);
}

Status validate_attention_factor(double attention_factor) {
  if (attention_factor >= 0x1p-20 && attention_factor <= 0x1p20) return {};
  return invalid_argument("attention_factor must be in [2^-20, 2^20], got ", attention_factor);
}

Status validate_inv_freq(const HeadWindow& window, const PairAxes& axes,
                         std::span<const double> inv_freq) {
  const std::int64_t count = axes.is_dense() ? axes.count * window.pairs() : window.pairs();
  if (static_cast<std::int64_t>(inv_freq.size()) != count) {
    return invalid_argument("inv_freq must have one entry for each pair",
                            axes.is_dense() ? " and axis, " : ", ", count, "; got ",
                            inv_freq.size());
  }
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    if (std::abs(inv_freq[pair]) < max_inv_freq) continue;
    return invalid_argument("inv_freq must be in (-2^40, 2^40), got ", inv_freq[pair], " for pair ",
                            pair);
  }
  return {};
}

// Fractional positions and xPos read inv_freq; other positions read turns and steps.
Status validate(const Frequencies& frequencies, const Positions& positions) {
  if (auto status = validate(frequencies.window); !status) return status;
  const PairAxes& axes = frequencies.axes;
  const std::int64_t pairs = frequencies.window.pairs();
  const bool several = axes.count != 1 || !axes.of_pair.empty();
  if (several) {
    if (auto status = validate(axes, pairs); !status) return status;
  }
  const bool dense = several && axes.is_dense();
  const std::int64_t turns = dense ? axes.count * pairs : pairs;
  if (static_cast<std::int64_t>(frequencies.turns.size()) != turns) {
    return invalid_argument("frequencies.turns must have one entry for each pair",
                            dense ? " and axis, " : ", ", turns, "; got ",
                            frequencies.turns.size());
  }
  const std::size_t steps = dense ? 0 : phase_step_count(pairs);
  if (frequencies.steps.size() != steps) {
    return invalid_argument("frequencies.steps must be those of make_frequencies, ", steps,
                            " entries; got ", frequencies.steps.size());
  }
  if (frequencies.xpos || dense || std::holds_alternative<TokenArray<double>>(positions)) {
    auto status = validate_inv_freq(frequencies.window, axes, frequencies.inv_freq);
    if (!status) return status;
  }
  return validate_attention_factor(frequencies.attention_factor);
}

}  // namespace rotary
