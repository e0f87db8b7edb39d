// SPDX-License-Identifier: Apache-2.0
// inv_freq in float32 as Transformers computes it, in the order of operations of
// compute_default_rope_parameters and modeling_rope_utils.py at c49429ed. The bits agree wherever
// torch's pow is the nearest float32 (almost everywhere). Rules without an overload here round the
// double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include "rotation/frequencies/recipe.hpp"

namespace rotary {
namespace {

// One pair's frequency; call it with the scaling rule.
class Float32Frequency {
 public:
  Float32Frequency(const UnscaledRotary& rotary, std::size_t pair, double scaled)
      : rotary_(rotary),
        pair_(pair),
        scaled_(scaled),
        unscaled_(unscaled(rotary, pair)),
        power_(power(rotary, pair)) {}

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
    return 1 / power(with_ntk_base(rotary_, rule.alpha), pair_);
  }

  // Recovers the list entry that was used from its effect; float32, as in torch.
  float operator()(const LongRopeScaling&) const {
    return 1 / (static_cast<float>(unscaled_ / scaled_) * power_);
  }

  float operator()(const ProportionalScaling& rule) const {
    return scaled_ == 0 ? 0.0F : 1 / power_ / static_cast<float>(rule.factor);
  }

  // Exact for kept and stretched pairs; a blended pair has the rounding of its blend.
  float operator()(const Llama3Scaling&) const {
    return static_cast<float>(scaled_ * (double{1 / power_} / unscaled_));
  }

  float operator()(const YarnScaling& rule) const {
    const float interpolated = 1 / (static_cast<float>(rule.factor) * power_);
    const float kept = 1 - stretched(rule);
    return interpolated * (1 - kept) + 1 / power_ * kept;
  }

 private:
  static double unscaled(const UnscaledRotary& rotary, std::size_t pair) {
    const auto dimension = static_cast<double>(rotary.rotary_dim);
    return std::pow(rotary.base, -2 * static_cast<double>(pair) / dimension);
  }

  // base^(2i/d); base, quotient and power are each rounded.
  static float power(const UnscaledRotary& rotary, std::size_t pair) {
    const float exponent = static_cast<float>(2 * pair) / static_cast<float>(rotary.rotary_dim);
    const auto base = static_cast<float>(rotary.base);
    return static_cast<float>(std::pow(double{base}, double{exponent}));
  }

  // The pair's position on YaRN's ramp, 0 kept to 1 stretched, recovered from its scaled frequency.
  [[nodiscard]] float stretched(const YarnScaling& rule) const {
    if (rule.factor == 1) return 0;
    const double along = (1 - scaled_ / unscaled_) / (1 - 1 / rule.factor);
    return static_cast<float>(std::clamp(along, 0.0, 1.0));
  }

  const UnscaledRotary& rotary_;
  std::size_t pair_;
  double scaled_;
  double unscaled_;
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
