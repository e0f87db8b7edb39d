// SPDX-License-Identifier: Apache-2.0
#include "rotation/frequencies/frequency_checks.hpp"

#include <cstdint>
#include <variant>

#include "base/message.hpp"
#include "rotation/frequencies/head_window.hpp"
#include "rotation/frequencies/phase_steps.hpp"

namespace rotary {

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
