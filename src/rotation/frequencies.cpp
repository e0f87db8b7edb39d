// SPDX-License-Identifier: Apache-2.0
#include "rotary/frequencies.hpp"

#include <cmath>
#include <utility>
#include <variant>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotation/head_window.hpp"
#include "rotation/phase_steps.hpp"
#include "rotation/scaling/rules.hpp"
#include "rotation/turns.hpp"

namespace rotary {

Status validate_inv_freq(const HeadWindow& window, std::span<const double> inv_freq) {
  if (static_cast<std::int64_t>(inv_freq.size()) != window.pairs()) {
    return invalid_argument("inv_freq must have one entry for each pair, ", window.pairs(),
                            "; got ", inv_freq.size());
  }
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    if (inv_freq[pair] >= 0 && inv_freq[pair] < max_inv_freq) continue;
    return invalid_argument("inv_freq must be in [0, 2^40), got ", inv_freq[pair], " for pair ",
                            pair);
  }
  return {};
}

Result<Frequencies> make_frequencies(const HeadWindow& window, std::vector<double> inv_freq,
                                     double attention_factor) noexcept {
  return guarded([&]() -> Result<Frequencies> {
    if (auto status = validate(window); !status) return std::move(status).error();
    if (auto status = validate_inv_freq(window, inv_freq); !status)
      return std::move(status).error();
    if (auto status = validate_attention_factor(attention_factor); !status)
      return std::move(status).error();
    std::vector<std::uint64_t> turns(inv_freq.size());
    for (std::size_t pair = 0; pair < turns.size(); ++pair)
      turns[pair] = turns_per_position(inv_freq[pair]);
    auto steps = phase_steps(turns);
    return Frequencies{.window = window,
                       .inv_freq = std::move(inv_freq),
                       .turns = std::move(turns),
                       .steps = std::move(steps),
                       .attention_factor = attention_factor};
  });
}

Result<Frequencies> make_frequencies(const RotarySpec& spec,
                                     std::optional<std::int64_t> context_tokens) noexcept {
  return guarded([&]() -> Result<Frequencies> {
    if (context_tokens && *context_tokens < 1) {
      return invalid_argument("context_tokens must be >= 1, got ", *context_tokens);
    }
    const auto window = head_window(spec);
    if (!window) return window.error();
    const UnscaledRotary rotary{
        .base = spec.base, .rotary_dim = window->rotary_dim, .context_tokens = context_tokens};
    if (!std::isfinite(rotary.base) || rotary.base <= 1) {
      return invalid_argument("base (rope_theta) must be finite and > 1, got ", rotary.base);
    }
    const auto check = [&](const auto& rule) { return validate(rule, rotary); };
    if (auto status = std::visit(check, spec.scaling); !status) return std::move(status).error();
    auto scaled = std::visit([&](const auto& rule) { return scale(rule, rotary); }, spec.scaling);
    if (spec.sense != Sense::positive || spec.xpos || spec.numerics != Numerics::exact) {
      return unsupported("sense negative, xpos and numerics must be left out for now");
    }
    auto frequencies =
        make_frequencies(*window, std::move(scaled.inv_freq), scaled.attention_factor);
    if (frequencies) frequencies->contexts = scaled.contexts;
    return frequencies;
  });
}

bool rotate_alike(const Frequencies& one, const Frequencies& other) noexcept {
  const HeadWindow& a = one.window;
  const HeadWindow& b = other.window;
  return a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim &&
         a.first_feature == b.first_feature && a.pairing.get() == b.pairing.get() &&
         one.inv_freq == other.inv_freq && one.attention_factor == other.attention_factor &&
         one.xpos == other.xpos && one.numerics == other.numerics && one.rounding == other.rounding;
}

}  // namespace rotary
