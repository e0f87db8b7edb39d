// SPDX-License-Identifier: Apache-2.0
#include "rotary/frequencies.hpp"

#include <cmath>
#include <utility>
#include <variant>

#include "base/arithmetic_modes.hpp"
#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "phase/turns.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/frequencies/pair_axes.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "rotation/frequencies/xpos_factor.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

namespace {

Result<std::optional<GgmlAngles>> apply_numerics(const RotarySpec& spec,
                                                 const UnscaledRotary& rotary,
                                                 ScaledFrequencies& scaled) {
  if (auto status = validate(spec.numerics, spec.rounding); !status) {
    return std::move(status).error();
  }
  if (spec.sense != Sense::positive && spec.numerics == Numerics::ggml) {
    return unsupported("numerics ggml needs sense positive: ggml's operation has no other");
  }
  const bool is_double = spec.rounding == Rounding::double_angle;
  if (spec.numerics == Numerics::vllm || (spec.numerics == Numerics::transformers && !is_double)) {
    round_like_transformers(spec.scaling, rotary, scaled.inv_freq);
  }
  if (spec.numerics != Numerics::ggml) return std::optional<GgmlAngles>();
  auto angles = ggml_angles(spec.scaling, rotary, scaled);
  if (!angles) return std::move(angles).error();
  return std::optional<GgmlAngles>(*std::move(angles));
}

// `rounding` matters to Numerics::transformers only.
bool round_alike(const Frequencies& one, const Frequencies& other) {
  return one.numerics == other.numerics && one.ggml == other.ggml &&
         (one.numerics != Numerics::transformers || one.rounding == other.rounding);
}

Status validate_sense_and_xpos(const RotarySpec& spec) {
  if (!is_enumerator(spec.sense)) return no_enumerator("sense", spec.sense);
  if (!spec.xpos) return {};
  if (spec.numerics != Numerics::exact) {
    return unsupported("xpos needs numerics exact, got ", to_string(spec.numerics));
  }
  return validate(*spec.xpos);
}

Status validate_frequencies(const HeadWindow& window, std::span<const double> inv_freq,
                            double attention_factor, const PairAxes& axes) {
  if (auto status = validate(window); !status) return status;
  if (auto status = validate(axes, window.pairs()); !status) return status;
  if (auto status = validate_inv_freq(window, axes, inv_freq); !status) return status;
  return validate_attention_factor(attention_factor);
}

Status check_base(double base) {
  if (std::isfinite(base) && base > 1) return {};
  return invalid_argument("base (rope_theta) must be finite and > 1, got ", base);
}

// Scales the frequencies of the window or of one axis, and adapts them to spec.numerics.
Result<std::optional<GgmlAngles>> scale_table(const RotarySpec& spec, const UnscaledRotary& rotary,
                                              ScaledFrequencies& scaled) {
  if (auto status = validate(spec.scaling, rotary); !status) return std::move(status).error();
  scaled = std::visit([&](const auto& rule) { return scale(rule, rotary); }, spec.scaling);
  return apply_numerics(spec, rotary, scaled);
}

Status check_axes(const RotarySpec& spec, const HeadWindow& window) {
  const Axes& axes = *spec.axes;
  if (auto status = validate(axes, window.pairs()); !status) return status;
  if (axes.pairs.size() > 1 && spec.xpos) {
    return unsupported("xpos needs positions of one axis, got ", axes.pairs.size(), " axes");
  }
  if (axes.pairs.size() > 1 && spec.numerics == Numerics::ggml) {
    return unsupported("numerics ggml needs positions of one axis, got ", axes.pairs.size(),
                       " axes");
  }
  if (!axes.scales.empty() && spec.numerics != Numerics::exact) {
    return unsupported("axes.scales need numerics exact, got ", to_string(spec.numerics));
  }
  return {};
}

// Takes each pair's entry from a table for the window or, with AxisExponents::own, for its axis.
Status scale_axes(const RotarySpec& spec, const UnscaledRotary& window, SpecNumbers& numbers) {
  const Axes& axes = *spec.axes;
  auto dealt = deal_pairs(axes);
  if (!dealt) return std::move(dealt).error();
  const std::vector<std::size_t> places = exponent_places(axes, *dealt);
  const bool own = axes.exponents.get() == AxisExponents::own;
  std::vector<double> inv_freq(places.size());
  for (std::size_t axis = 0; axis < axes.pairs.size(); ++axis) {
    UnscaledRotary rotary = window;
    if (own) rotary.rotary_dim = 2 * axes.pairs[axis];
    if (!axes.bases.empty()) rotary.base = axes.bases[axis];
    if (own || axis == 0) {
      auto scaled = scale_table(spec, rotary, numbers.scaled);
      if (!scaled) return std::move(scaled).error();
    }
    const double scale = axes.scales.empty() ? 1 : axes.scales[axis];
    for (std::size_t pair = 0; pair < places.size(); ++pair) {
      const auto of_pair = dealt->of_pair.empty() ? 0 : dealt->of_pair[pair];
      if (of_pair == static_cast<std::int32_t>(axis))
        inv_freq[pair] = scale * numbers.scaled.inv_freq[places[pair]];
    }
  }
  numbers.scaled.inv_freq = std::move(inv_freq);
  numbers.axes = *std::move(dealt);
  return {};
}

}  // namespace

Result<SpecNumbers> numbers_of(const RotarySpec& spec, std::optional<std::int64_t> context_tokens) {
  if (context_tokens && *context_tokens < 1) {
    return invalid_argument("context_tokens must be >= 1, got ", *context_tokens);
  }
  const auto window = head_window(spec);
  if (!window) return window.error();
  const UnscaledRotary rotary{
      .base = spec.base, .rotary_dim = window->rotary_dim, .context_tokens = context_tokens};
  if (auto status = check_base(rotary.base); !status) return std::move(status).error();
  if (auto status = validate_sense_and_xpos(spec); !status) return std::move(status).error();
  SpecNumbers numbers{.window = *window, .scaled = {}, .ggml = {}, .axes = {}};
  if (spec.axes) {
    if (auto status = check_axes(spec, *window); !status) return std::move(status).error();
    if (auto status = scale_axes(spec, rotary, numbers); !status) return std::move(status).error();
  } else {
    auto ggml = scale_table(spec, rotary, numbers.scaled);
    if (!ggml) return std::move(ggml).error();
    numbers.ggml = *std::move(ggml);
  }
  if (spec.sense == Sense::negative) {
    for (double& inv_freq : numbers.scaled.inv_freq) inv_freq = 0 - inv_freq;  // 0 stays +0
  }
  return numbers;
}

Status validate(const RotarySpec& spec, std::optional<std::int64_t> context_tokens) noexcept {
  return guarded([&]() -> Status {
    const auto numbers = numbers_of(spec, context_tokens);
    if (!numbers) return numbers.error();
    return validate_frequencies(numbers->window, numbers->scaled.inv_freq,
                                numbers->scaled.attention_factor, numbers->axes);
  });
}

Result<Frequencies> make_frequencies(const HeadWindow& window, std::vector<double> inv_freq,
                                     double attention_factor) noexcept {
  return make_frequencies(window, std::move(inv_freq), attention_factor, PairAxes{});
}

Result<Frequencies> make_frequencies(const HeadWindow& window, std::vector<double> inv_freq,
                                     double attention_factor, PairAxes axes) noexcept {
  return guarded([&]() -> Result<Frequencies> {
    if (auto status = validate_frequencies(window, inv_freq, attention_factor, axes); !status)
      return std::move(status).error();
    std::vector<std::uint64_t> turns(inv_freq.size());
    for (std::size_t pair = 0; pair < turns.size(); ++pair)
      turns[pair] = turns_per_position(inv_freq[pair]);
    auto steps = axes.is_dense() ? std::vector<double>() : phase_steps(turns);
    return Frequencies{.window = window,
                       .inv_freq = std::move(inv_freq),
                       .turns = std::move(turns),
                       .steps = std::move(steps),
                       .attention_factor = attention_factor,
                       .axes = std::move(axes)};
  });
}

Result<Frequencies> make_frequencies(const RotarySpec& spec,
                                     std::optional<std::int64_t> context_tokens) noexcept {
  return guarded([&]() -> Result<Frequencies> {
    auto numbers = numbers_of(spec, context_tokens);
    if (!numbers) return std::move(numbers).error();
    ScaledFrequencies& scaled = numbers->scaled;
    auto frequencies = make_frequencies(numbers->window, std::move(scaled.inv_freq),
                                        scaled.attention_factor, std::move(numbers->axes));
    if (!frequencies) return frequencies;
    frequencies->contexts = scaled.contexts;
    const bool is_vllm = spec.numerics == Numerics::vllm;
    frequencies->numerics = is_vllm ? Numerics::transformers : spec.numerics;
    frequencies->rounding = is_vllm ? Rounding::table : spec.rounding;
    frequencies->ggml = std::move(numbers->ggml);
    frequencies->xpos = spec.xpos;
    return frequencies;
  });
}

bool rotate_alike(const Frequencies& one, const Frequencies& other) noexcept {
  const DefaultModes modes;
  return computed_here(one.window == other.window && one.axes == other.axes &&
                       one.inv_freq == other.inv_freq &&
                       one.attention_factor == other.attention_factor && one.xpos == other.xpos &&
                       round_alike(one, other));
}

}  // namespace rotary
