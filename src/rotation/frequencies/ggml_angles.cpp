// SPDX-License-Identifier: Apache-2.0
// Converts a scaling rule to the arguments of ggml's rope operation, as llama.cpp passes them.
// Sources: ggml/src/ggml.c (ggml_rope_yarn_corr_dims), ggml/src/ggml-cpu/ops.cpp (rope_yarn) and
// src/llama-context.cpp (the YaRN factor) of llama.cpp at 34af94cd, which compute in float32.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <variant>

#include "base/message.hpp"
#include "rotation/frequencies/recipe.hpp"

namespace rotary {
namespace {

// llama.cpp's converter gives this freq_factor to unrotated pairs, which makes their angle about 0.
constexpr double standing_still = 1e30;

// Computed in double, so that the C library's powf does not decide the last bit.
float power(float base, float exponent) {
  return static_cast<float>(std::pow(double{base}, double{exponent}));
}

float logarithm(float value) { return static_cast<float>(std::log(double{value})); }

class AnglesOfRule {
 public:
  AnglesOfRule(const UnscaledRotary& rotary, ScaledFrequencies& scaled)
      : rotary_(rotary), scaled_(scaled), dimension_(static_cast<float>(rotary.rotary_dim)) {}

  Result<GgmlAngles> operator()(const NoScaling&) const { return from_base(rotary_.base); }

  Result<GgmlAngles> operator()(const LinearScaling& rule) const {
    auto angles = from_base(rotary_.base);
    if (angles) angles->freq_scale = 1 / static_cast<float>(rule.factor);
    return angles;
  }

  // The converter writes the larger base b', found here from pair 1's frequency b'^(-2/d).
  Result<GgmlAngles> operator()(const NtkScaling&) const {
    return from_base(std::pow(scaled_.inv_freq[1], -static_cast<double>(rotary_.rotary_dim) / 2));
  }

  Result<GgmlAngles> operator()(const YarnScaling& rule) const {
    auto angles = from_base(rotary_.base);
    if (!angles) return angles;
    if (rule.original_context_tokens > std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument("original_max_position_embeddings must be within int32 for numerics ",
                              "ggml, got ", rule.original_context_tokens);
    }
    angles->freq_scale = 1 / static_cast<float>(rule.factor);
    angles->ext_factor = 1;
    angles->ramp_low = std::max(0.0F, std::floor(pair_that_turns(rule, rule.beta_fast)));
    angles->ramp_high = std::min(dimension_ - 1, std::ceil(pair_that_turns(rule, rule.beta_slow)));
    angles->mscale = yarn_mscale(angles->freq_scale);
    if (!std::isfinite(angles->mscale) || angles->freq_scale >= 0x1p40F) {
      return invalid_argument("factor must be finite and > 2^-40 as a float32, and 1 + 0.1 ",
                              "ln(factor) not 0, for numerics ggml; got ", rule.factor);
    }
    publish_ramp(*angles, rule.factor);
    return angles;
  }

  // Other rules become freq_factors; ggml divides the angles by them.
  template <class Rule>
  Result<GgmlAngles> operator()(const Rule&) const {
    auto angles = from_base(rotary_.base);
    if (!angles) return angles;
    const auto unscaled = unscaled_inv_freq(rotary_);
    for (std::size_t pair = 0; pair < unscaled.size(); ++pair) {
      const double ratio =
          scaled_.inv_freq[pair] == 0 ? standing_still : unscaled[pair] / scaled_.inv_freq[pair];
      const auto factor = static_cast<float>(std::clamp(ratio, -standing_still, standing_still));
      if (std::abs(factor) < std::numeric_limits<float>::min()) {
        return invalid_argument("inv_freq must be below 2^126 times the unscaled one for numerics ",
                                "ggml, got ", scaled_.inv_freq[pair], " for pair ", pair);
      }
      angles->freq_factors.push_back(factor);
    }
    return angles;
  }

 private:
  [[nodiscard]] Result<GgmlAngles> from_base(double base) const {
    const auto narrow = static_cast<float>(base);
    if (!std::isfinite(narrow) || narrow <= 1) {
      return invalid_argument("base must be finite and > 1 as a float32 for numerics ggml, got ",
                              base);
    }
    return GgmlAngles{.theta_scale = power(narrow, -2 / dimension_),
                      .mscale = static_cast<float>(scaled_.attention_factor)};
  }

  // The fractional index of the pair with this number of turns within the original context.
  [[nodiscard]] float pair_that_turns(const YarnScaling& rule, double turns) const {
    const auto context = static_cast<float>(rule.original_context_tokens);
    const float radians = static_cast<float>(turns) * 2 * std::numbers::pi_v<float>;
    return dimension_ * logarithm(context / radians) /
           (2 * logarithm(static_cast<float>(rotary_.base)));
  }

  // llama.cpp divides the factor by this growth; ggml's operation multiplies by it again.
  [[nodiscard]] float yarn_mscale(float freq_scale) const {
    const float growth = 1 + 0.1F * logarithm(1 / freq_scale);
    return static_cast<float>(scaled_.attention_factor) * (1 / growth) * growth;
  }

  void publish_ramp(const GgmlAngles& angles, double factor) const {
    const double low = angles.ramp_low;
    const double width = std::max(0.001, angles.ramp_high - low);
    scaled_.inv_freq = unscaled_inv_freq(rotary_);
    for (std::size_t pair = 0; pair < scaled_.inv_freq.size(); ++pair) {
      const double stretched = std::clamp((static_cast<double>(pair) - low) / width, 0.0, 1.0);
      scaled_.inv_freq[pair] *= stretched / factor + (1 - stretched);
    }
  }

  const UnscaledRotary& rotary_;
  ScaledFrequencies& scaled_;
  float dimension_;
};

}  // namespace

Result<GgmlAngles> ggml_angles(const Scaling& scaling, const UnscaledRotary& rotary,
                               ScaledFrequencies& scaled) {
  return std::visit(AnglesOfRule(rotary, scaled), scaling);
}

}  // namespace rotary
