// SPDX-License-Identifier: Apache-2.0
// NTK-RoPE, fixed and mixed: Su Jianlin 2023, kexue.fm/archives/9706; vLLM's ntk_scaling_rope.py.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

// Divides the frequency of pair m - 1, m = 1 … d/2, by exp(a m^b), with a = ln(factor) / (d/2)^b.
std::vector<double> mixed(const MixedNtkScaling& rule, const UnscaledRotary& rotary) {
  auto inv_freq = unscaled_inv_freq(rotary);
  const auto pairs = static_cast<double>(inv_freq.size());
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const double part = std::pow(static_cast<double>(pair + 1) / pairs, *rule.mixed_b);  // exponent
    inv_freq[pair] /= std::pow(rule.factor, part);
  }
  return inv_freq;
}

std::vector<double> fixed(const MixedNtkScaling& rule, const UnscaledRotary& rotary) {
  UnscaledRotary slower = rotary;
  slower.base *= rule.factor;
  auto inv_freq = unscaled_inv_freq(slower);
  const double stretch = std::pow(rule.factor, 2 / static_cast<double>(rotary.rotary_dim));
  for (double& frequency : inv_freq) frequency /= stretch;
  return inv_freq;
}

}  // namespace

Status validate(const MixedNtkScaling& rule, const UnscaledRotary& rotary) {
  if (rule.mixed_b) return {};
  const double base = rotary.base * rule.factor;
  if (std::isfinite(base) && base > 1) return {};
  return invalid_argument("factor must leave base * factor finite and > 1, got ", rule.factor,
                          " with base ", rotary.base);
}

ScaledFrequencies scale(const MixedNtkScaling& rule, const UnscaledRotary& rotary) {
  return {.inv_freq = rule.mixed_b ? mixed(rule, rotary) : fixed(rule, rotary)};
}

}  // namespace rotary
