// SPDX-License-Identifier: Apache-2.0
// Su et al. 2021 (arXiv 2104.09864), §3.2.2: theta_i = base^(-2(i-1)/d), i = 1 .. d/2; here i
// starts at 0. Scaling rules follow src/transformers/modeling_rope_utils.py of
// huggingface/transformers at c49429ed1f8b89749de77c0ec930ef19685c9ae5, and each rule's paper.
#include "reference/frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <variant>

#include "reference/axes.hpp"

namespace rotary::reference {
namespace {

constexpr long double two_pi = 2 * std::numbers::pi_v<long double>;

struct Rope {
  long double base = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t context_tokens = 0;  // 0: not given

  [[nodiscard]] std::int64_t pairs() const { return rotary_dim / 2; }
  [[nodiscard]] long double theta(std::int64_t i) const {
    return std::pow(base,
                    -2.0L * static_cast<long double>(i) / static_cast<long double>(rotary_dim));
  }
};

template <class Theta>
std::vector<long double> for_each_pair(const Rope& rope, Theta theta) {
  std::vector<long double> values;
  for (std::int64_t i = 0; i < rope.pairs(); ++i) values.push_back(theta(i));
  return values;
}

Frequencies scale(const NoScaling& /*rule*/, const Rope& rope) {
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) { return rope.theta(i); })};
}

// Chen et al. 2023 (arXiv 2306.15595), eq. 4: f'(x, m) = f(x, m L / L').
Frequencies scale(const LinearScaling& rule, const Rope& rope) {
  const long double stretch = rule.factor;
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) { return rope.theta(i) / stretch; })};
}

// bloc97 2023, "NTK-aware scaled RoPE": base' = base * alpha^(d / (d - 2)).
Frequencies ntk_aware(long double alpha, const Rope& rope) {
  const auto d = static_cast<long double>(rope.rotary_dim);
  Rope stretched = rope;
  stretched.base = rope.base * std::pow(alpha, d / (d - 2));
  return scale(NoScaling{}, stretched);
}

Frequencies scale(const NtkScaling& rule, const Rope& rope) { return ntk_aware(rule.alpha, rope); }

// The real-valued index i of the pair that rotates `turns` times within the original context L0:
// L0 * base^(-2 i / d) = 2 pi turns. It is YaRN's find_correction_dim.
long double pair_with_turns(const YarnScaling& rule, const Rope& rope, long double turns) {
  const auto context = static_cast<long double>(rule.original_context_tokens);
  return static_cast<long double>(rope.rotary_dim) * std::log(context / (turns * two_pi)) /
         (2 * std::log(rope.base));
}

// Peng et al. 2023 (arXiv 2309.00071), §3.4: sqrt(1/t) = 0.1 ln(s) + 1. DeepSeek multiplies the
// first term by m.
long double yarn_temperature(long double factor, long double m) {
  return factor <= 1 ? 1.0L : m * std::log(factor) / 10 + 1;
}

long double yarn_attention_factor(const YarnScaling& rule) {
  if (rule.attention_factor) return *rule.attention_factor;
  const long double mscale = rule.mscale.value_or(0);
  const long double mscale_all_dim = rule.mscale_all_dim.value_or(0);
  if (mscale == 0 || mscale_all_dim == 0) return yarn_temperature(rule.factor, 1);
  return yarn_temperature(rule.factor, mscale) / yarn_temperature(rule.factor, mscale_all_dim);
}

// Peng et al. 2023, §3.2 as printed: h(theta) = (1 - gamma) theta / s + gamma theta. With
// lambda = 2 pi / theta and r = L / lambda, gamma(r) is 0 for r < alpha, 1 for r > beta, and linear
// in between.
Frequencies yarn_by_turns(const YarnScaling& rule, const Rope& rope) {
  const auto context = static_cast<long double>(rule.original_context_tokens);
  const long double alpha = rule.beta_slow;
  const long double beta = rule.beta_fast;
  const auto theta = [&](std::int64_t i) {
    const long double wavelength = two_pi / rope.theta(i);
    const long double r = context / wavelength;
    const long double gamma = r < alpha ? 0 : r > beta ? 1 : (r - alpha) / (beta - alpha);
    return (1 - gamma) * rope.theta(i) / rule.factor + gamma * rope.theta(i);
  };
  return {.inv_freq = for_each_pair(rope, theta), .attention_factor = yarn_attention_factor(rule)};
}

// Peng et al. 2023, §3.2 "NTK-by-parts": (1 - gamma) theta / s + gamma theta. The ramp follows the
// pair's index instead of its wavelength. Its ends are clamped to [0, d - 1], although there are
// only d/2 pairs. Checkpoints were trained with this ramp (_compute_yarn_parameters).
Frequencies scale(const YarnScaling& rule, const Rope& rope) {
  if (rule.ramp == YarnRamp::turns) return yarn_by_turns(rule, rope);
  long double low = pair_with_turns(rule, rope, rule.beta_fast);
  long double high = pair_with_turns(rule, rope, rule.beta_slow);
  if (rule.ramp == YarnRamp::whole_pairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0L);
  high = std::min(high, static_cast<long double>(rope.rotary_dim - 1));
  if (low == high) high += 0.001L;

  const auto theta = [&](std::int64_t i) {
    const auto ramp = std::clamp((static_cast<long double>(i) - low) / (high - low), 0.0L, 1.0L);
    const long double gamma = 1 - ramp;
    return (1 - gamma) * rope.theta(i) / rule.factor + gamma * rope.theta(i);
  };
  return {.inv_freq = for_each_pair(rope, theta), .attention_factor = yarn_attention_factor(rule)};
}

// meta-llama/llama-models, models/llama3/model.py, apply_scaling; Transformers'
// _compute_llama3_parameters.
Frequencies scale(const Llama3Scaling& rule, const Rope& rope) {
  const auto context = static_cast<long double>(rule.original_context_tokens);
  const long double low = rule.low_freq_factor;
  const long double high = rule.high_freq_factor;
  const auto theta = [&](std::int64_t i) {
    const long double wavelength = two_pi / rope.theta(i);
    if (wavelength < context / high) return rope.theta(i);
    if (wavelength > context / low) return rope.theta(i) / rule.factor;
    const long double smooth = (context / wavelength - low) / (high - low);
    return (1 - smooth) * rope.theta(i) / rule.factor + smooth * rope.theta(i);
  };
  return {.inv_freq = for_each_pair(rope, theta)};
}

// emozilla 2023, "Dynamically Scaled RoPE further increases performance of long context LLaMA with
// zero fine-tuning"; Transformers' _compute_dynamic_ntk_parameters: alpha = (s l / L) - (s - 1) for
// a context of l tokens, where l is at least L.
Frequencies scale(const DynamicNtkScaling& rule, const Rope& rope) {
  const auto trained = static_cast<long double>(rule.original_context_tokens);
  const long double length = std::max(static_cast<long double>(rope.context_tokens), trained);
  const long double s = rule.factor;
  return ntk_aware(s * length / trained - (s - 1), rope);
}

// modeling_qwen.py of Qwen-7B-Chat: with context_value = log2(l / L) + 1, alpha is
// 2^ceil(context_value) - 1, at least 1.
Frequencies scale(const DoublingNtkScaling& rule, const Rope& rope) {
  const auto trained = static_cast<long double>(rule.original_context_tokens);
  const auto length = static_cast<long double>(rope.context_tokens);
  const long double value = std::log2(length / trained) + 1;
  return ntk_aware(std::max(std::exp2(std::ceil(value)) - 1, 1.0L), rope);
}

// Ding et al. 2024 (arXiv 2402.13753), §2 and §3: theta_i / lambda_i. Contexts beyond the trained
// one use the long list, unless rule.lists names one list. A = sqrt(1 + ln s / ln L):
// microsoft/LongRoPE, rope/longrope.py, policy "su".
Frequencies scale(const LongRopeScaling& rule, const Rope& rope) {
  const bool extended = rule.lists == LongRopeSwitch::by_context
                            ? rope.context_tokens > rule.original_context_tokens
                            : rule.lists == LongRopeSwitch::always_long;
  const std::vector<double>& lambda = extended ? rule.long_factor : rule.short_factor;
  const auto trained = static_cast<long double>(rule.original_context_tokens);
  const long double s = std::max(rule.factor, 1.0);
  Frequencies result;
  for (std::int64_t i = 0; i < rope.pairs(); ++i) {
    const long double stretch = lambda.at(static_cast<std::size_t>(i));
    result.inv_freq.push_back(rope.theta(i) / stretch);
  }
  result.attention_factor = std::sqrt(1 + std::log(s) / std::log(trained));
  if (rule.attention_factor) result.attention_factor = *rule.attention_factor;
  if (extended && rule.long_mscale) result.attention_factor = *rule.long_mscale;
  if (!extended && rule.short_mscale) result.attention_factor = *rule.short_mscale;
  return result;
}

// Barbero et al. 2024 (arXiv 2410.06205), §6: p-RoPE keeps the fraction p of highest frequencies
// and sets the others to 0. Gemma 4's p is a fraction of the head's features.
Frequencies scale(const ProportionalScaling& rule, const Rope& rope) {
  const double turning_features =  // a product of doubles, as in Python: 0.3 * 20 gives 6
      rule.turning_fraction * static_cast<double>(rope.rotary_dim);
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) {
            const auto features_so_far = static_cast<double>(2 * (i + 1));
            return features_so_far <= turning_features ? rope.theta(i) / rule.factor : 0.0L;
          })};
}

// Su Jianlin 2023, kexue.fm/archives/9706: n theta_m / P_m with P_m = lambda_1 … lambda_m =
// exp(a m^b) and a (d/2)^b = ln k. Without mixed_b, P_m is k^(2 m / d).
Frequencies scale(const MixedNtkScaling& rule, const Rope& rope) {
  const long double ln_k = std::log(static_cast<long double>(rule.factor));
  const auto half = static_cast<long double>(rope.pairs());
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) {
            const auto m = static_cast<long double>(i + 1);
            if (!rule.mixed_b) return rope.theta(i) * std::exp(-ln_k * m / half);
            const long double b = *rule.mixed_b;
            const long double a = ln_k / std::pow(half, b);
            return rope.theta(i) * std::exp(-a * std::pow(m, b));
          })};
}

// bloc97 2023, "NTK-By-Parts"; jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding. One mask blends
// NTK-aware with linear frequencies. Another blends the result with the original frequencies. A
// mask falls from 1 (many rotations) to 0 (few); its ends are rounded outwards to integer pairs.
Frequencies scale(const NtkByPartsScaling& rule, const Rope& rope) {
  const YarnScaling context{.original_context_tokens = rule.original_context_tokens};
  const auto mask = [&](std::int64_t i, long double many, long double few) {
    const auto last = static_cast<long double>(rope.rotary_dim - 1);
    const long double begin = std::max(std::floor(pair_with_turns(context, rope, many)), 0.0L);
    long double end = std::min(std::ceil(pair_with_turns(context, rope, few)), last);
    if (begin == end) end += 0.001L;
    return 1 - std::clamp((static_cast<long double>(i) - begin) / (end - begin), 0.0L, 1.0L);
  };
  const auto ntk = scale(NtkScaling{.alpha = rule.factor}, rope).inv_freq;
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) {
            const long double of_ntk = mask(i, 1.25L, 0.75L) * rule.ntk_factor;
            const long double of_base = mask(i, 16, 2) * rule.extrapolation_factor;
            const long double mixed = rope.theta(i) / rule.factor * (1 - of_ntk) +
                                      ntk[static_cast<std::size_t>(i)] * of_ntk;
            return mixed * (1 - of_base) + rope.theta(i) * of_base;
          })};
}

// arXiv 2602.05258: multiplies the last n frequencies by (1 + cos t) / 2 for n values of t from 0
// to pi (torch.linspace; a single value is 0), or by 0 for a hard edge.
Frequencies scale(const ClippedScaling& rule, const Rope& rope) {
  const std::int64_t n = rule.clipped_pairs;
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) {
            const std::int64_t step = i - (rope.pairs() - n);
            if (step < 0) return rope.theta(i);
            if (rule.edge == ClippedEdge::hard) return 0.0L;
            const auto steps = static_cast<long double>(std::max<std::int64_t>(n - 1, 1));
            const long double t = two_pi / 2 * (static_cast<long double>(step) / steps);
            return rope.theta(i) * (1 + std::cos(t)) / 2;
          })};
}

// Sun et al. 2023 (arXiv 2307.08621), in torchscale: 1 / 10000^linspace(0, 1, d/2).
Frequencies scale(const RetNetScaling& /*rule*/, const Rope& rope) {
  const auto intervals = static_cast<long double>(rope.pairs() - 1);
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) {
            return std::pow(rope.base, -static_cast<long double>(i) / intervals);
          })};
}

Frequencies scale(const ExplicitScaling& rule, const Rope& /*rope*/) {
  return {.inv_freq = {rule.inv_freq.begin(), rule.inv_freq.end()},
          .attention_factor = rule.attention_factor};
}

// rotary_embedding_torch.py, freqs_for == 'pixel': torch.linspace(1., max_freq / 2, dim // 2) * pi.
Frequencies scale(const PixelScaling& rule, const Rope& rope) {
  const auto intervals = static_cast<long double>(std::max<std::int64_t>(rope.pairs() - 1, 1));
  return {.inv_freq = for_each_pair(rope, [&](std::int64_t i) {
            const long double along = static_cast<long double>(i) / intervals;
            return std::lerp(1.0L, rule.max_freq / 2.0L, along) * two_pi / 2;
          })};
}

// A pair's frequency is the entry named by pair_sources() in the table of a spec without axes.
Frequencies of_axes(const RotarySpec& spec, std::optional<std::int64_t> context_tokens) {
  const Axes& axes = *spec.axes;
  Frequencies result;
  for (const PairSource& pair : pair_sources(axes)) {
    const auto axis = static_cast<std::size_t>(pair.axis);
    RotarySpec table = spec;
    table.axes.reset();
    if (axes.exponents.get() == AxisExponents::own) table.rotary_dim = 2 * axes.pairs.at(axis);
    if (!axes.bases.empty()) table.base = axes.bases.at(axis);
    const Frequencies of_axis = frequencies(table, context_tokens);
    const long double scale = axes.scales.empty() ? 1 : axes.scales.at(axis);
    result.inv_freq.push_back(scale * of_axis.inv_freq.at(static_cast<std::size_t>(pair.place)));
    result.attention_factor = of_axis.attention_factor;
  }
  return result;
}

}  // namespace

Frequencies frequencies(const RotarySpec& spec, std::optional<std::int64_t> context_tokens) {
  if (spec.axes) return of_axes(spec, context_tokens);
  const Rope rope{.base = spec.base.get(),
                  .rotary_dim = spec.rotary_dim.value_or(spec.head_dim - spec.first_feature),
                  .context_tokens = context_tokens.value_or(0)};
  auto scaled = std::visit([&](const auto& rule) { return scale(rule, rope); }, spec.scaling);
  // Negative sense: sin(-φ) = -sin φ.
  if (spec.sense == Sense::negative) {
    for (long double& theta : scaled.inv_freq) theta *= -1;
  }
  return scaled;
}

}  // namespace rotary::reference
