// SPDX-License-Identifier: Apache-2.0
// inv_freq in float32, with the operations of Transformers: modeling_rope_utils.py of 5.23
// (c49429ed) and classes with their own functions. Torch computes number / tensor as
// float32(number) * (1 / tensor). The bits agree except where torch's pow is not the nearest
// float32, about once in 100 (docs/theory/numerics.md). Rules without an overload here get the
// rounded double frequency.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <variant>

#include "rotation/frequencies/recipe.hpp"
#include "rotation/scaling/turn_ramp.hpp"

namespace rotary {
namespace {

// base^(2i/d), where base, 2i/d and the power are each rounded to float32.
float power(double base, std::int64_t rotary_dim, std::size_t pair) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(rotary_dim);
  return static_cast<float>(std::pow(double{static_cast<float>(base)}, double{exponent}));
}

// The base for a context longer than the original. The length is a tensor of one number, so torch
// takes the exponent in double.
float grown_base(const DynamicNtkScaling& rule, const UnscaledRotary& rotary) {
  const auto dimension = static_cast<double>(rotary.rotary_dim);
  const float length = static_cast<float>(rule.factor) * static_cast<float>(*rotary.context_tokens);
  const float growth = length / static_cast<float>(rule.original_context_tokens) -
                       static_cast<float>(rule.factor - 1);
  const auto grown = static_cast<float>(std::pow(double{growth}, dimension / (dimension - 2)));
  return static_cast<float>(rotary.base) * grown;
}

// The frequency of one pair, as a visitor of the scaling rule.
class Float32Frequency {
 public:
  Float32Frequency(const UnscaledRotary& rotary, std::size_t pair, double scaled)
      : rotary_(rotary), pair_(pair), scaled_(scaled), power_(power_of(rotary.base)) {}

  template <class Rule>
  float operator()(const Rule&) const {
    return static_cast<float>(scaled_);
  }

  float operator()(const NoScaling&) const { return 1 / power_; }

  float operator()(const LinearScaling& rule) const {
    return 1 / power_ / static_cast<float>(rule.factor);
  }

  // The NTK base is computed in double.
  float operator()(const NtkScaling& rule) const {
    return 1 / power_of(with_ntk_base(rotary_, rule.alpha).base);
  }

  float operator()(const DoublingNtkScaling& rule) const {
    return 1 / power_of(with_ntk_base(rotary_, ntk_alpha(rule, rotary_)).base);
  }

  float operator()(const DynamicNtkScaling& rule) const {
    const bool is_scaled = *rotary_.context_tokens > rule.original_context_tokens;
    return is_scaled ? 1 / power_of(grown_base(rule, rotary_)) : 1 / power_;
  }

  float operator()(const LongRopeScaling& rule) const {
    return 1 / (static_cast<float>(factors_of(rule, rotary_)[pair_]) * power_);
  }

  float operator()(const ProportionalScaling& rule) const {
    return scaled_ == 0 ? 0.0F : 1 / power_ / static_cast<float>(rule.factor);
  }

  float operator()(const Llama3Scaling& rule) const {
    const auto original = static_cast<double>(rule.original_context_tokens);
    const float kept = 1 / power_;
    const auto factor = static_cast<float>(rule.factor);
    const float wavelength = 1 / kept * static_cast<float>(2 * std::numbers::pi);
    if (wavelength > static_cast<float>(original / rule.low_freq_factor)) return kept / factor;
    if (wavelength < static_cast<float>(original / rule.high_freq_factor)) return kept;
    if (rule.high_freq_factor == rule.low_freq_factor) return kept;  // torch: 0 / 0
    const float turns = 1 / wavelength * static_cast<float>(original);
    const float smooth = (turns - static_cast<float>(rule.low_freq_factor)) /
                         static_cast<float>(rule.high_freq_factor - rule.low_freq_factor);
    return (1 - smooth) * kept / factor + smooth * kept;
  }

  // YarnRamp::turns does not exist in Transformers.
  float operator()(const YarnScaling& rule) const {
    if (rule.ramp == YarnRamp::turns) return static_cast<float>(scaled_);
    const TurnRamp ramp = turn_ramp(rule, rotary_);
    const float along = (static_cast<float>(pair_) - static_cast<float>(ramp.low)) /
                        static_cast<float>(ramp.high - ramp.low);
    const float kept = 1 - std::clamp(along, 0.0F, 1.0F);
    const float interpolated = 1 / (static_cast<float>(rule.factor) * power_);
    return interpolated * (1 - kept) + 1 / power_ * kept;
  }

 private:
  [[nodiscard]] float power_of(double base) const { return power(base, rotary_.rotary_dim, pair_); }

  const UnscaledRotary& rotary_;
  std::size_t pair_;
  double scaled_;
  float power_;
};

}  // namespace

void round_like_transformers(const Scaling& scaling, const UnscaledRotary& rotary,
                             std::vector<double>& inv_freq) {
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const Float32Frequency frequency(rotary, pair, std::abs(inv_freq[pair]));
    inv_freq[pair] = std::copysign(std::visit(frequency, scaling), inv_freq[pair]);
  }
}

}  // namespace rotary
