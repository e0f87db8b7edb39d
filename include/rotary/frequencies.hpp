// SPDX-License-Identifier: Apache-2.0
// Frequencies: how fast each pair of one RotarySpec turns.
//
//   const auto frequencies = *make_frequencies(spec);
//   frequencies.inv_freq[0];  // 1: radians per position of the fastest pair
#ifndef ROTARY_FREQUENCIES_HPP
#define ROTARY_FREQUENCIES_HPP

#include <cstdint>
#include <optional>
#include <vector>

#include "rotary/axes.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// GgmlAngles: the arguments of ggml's rope operation, for Numerics::ggml. All float32, as in ggml.
//
//   RotarySpec spec = …;
//   spec.numerics = Numerics::ggml;  // make_frequencies then fills Frequencies::ggml

// At position p the angle θ of pair 0 is p, and the angle of each later pair is theta_scale times
// that of the pair before. With e = θ / freq_factors[pair], the pair turns by freq_scale * e or, if
// ext_factor is not 0, by freq_scale * e * (1 - mix) + e * mix. mix is ext_factor up to pair
// ramp_low, falls linearly, and is 0 from pair ramp_high on. docs/theory/numerics.md.
struct GgmlAngles {
  float theta_scale = 1;  // base^(-2/rotary_dim)
  float freq_scale = 1;   // 1 / factor, for linear and YaRN
  float ext_factor = 0;   // 1 for YaRN
  float ramp_low = 0;     // whole pairs
  float ramp_high = 0;    // whole pairs
  float mscale = 1;       // multiplies cos and sin: attn_factor, times YaRN's own factor
  std::vector<float> freq_factors = {};  // [pairs], or empty: 1 for every pair

  friend bool operator==(const GgmlAngles&, const GgmlAngles&) = default;
};

// Every error bound of this library refers to inv_freq; make_frequencies derives turns and steps
// from it. Numerics::transformers: inv_freq is the float32 that the model computes with (except for
// Rounding::double_angle). Numerics::vllm is stored as transformers with Rounding::table.
// Numerics::ggml: inv_freq describes the angles before float32 rounding, and YaRN's ramp uses whole
// pairs.
struct Frequencies {
  HeadWindow window;
  std::vector<double> inv_freq;      // [pairs], radians per position; negative: turns by -φ
  std::vector<std::uint64_t> turns;  // [pairs], turns per position in units of 2^-64, modulo 1
  std::vector<double> steps;         // for make_rotations: cos and sin of the first positions; none
                                     // of dense axes, whose inv_freq and turns are [axes][pairs]
  double attention_factor = 1;       // A: multiplies cos and sin, so a score grows by A^2
  // The context lengths that give these frequencies; all lengths unless the rule depends on them.
  ContextRange contexts = {};
  // As in the spec; make_rotations applies them.
  std::optional<Xpos> xpos = {};  // rows are made for each Role
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;
  std::optional<GgmlAngles> ggml = {};  // for Numerics::ggml, which computes its angles from these
  PairAxes axes = {};                   // the axis of each pair; one unless the spec has several
};

// context_tokens: the length of the context, >= 1. Rules whose frequencies depend on it
// (depends_on_context) require it; others ignore it. Transformers passes the tokens so far at each
// forward pass; vLLM and llama.cpp pass the longest possible context. Errors: unsupported for
// several axes with xpos or numerics ggml; invalid_argument if the spec breaks a requirement stated
// with its fields, if a required context length is missing, if the rule gives an attention factor
// outside [2^-20, 2^20], or if ggml's operation cannot express the spec under Numerics::ggml.
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(
    const RotarySpec& spec, std::optional<std::int64_t> context_tokens = {}) noexcept;

// Checks a spec: the errors of make_frequencies(), without making its tables.
[[nodiscard]] ROTARY_API Status validate(const RotarySpec& spec,
                                         std::optional<std::int64_t> context_tokens = {}) noexcept;

// True if keys rotated with one match queries rotated with the other: everything that affects a
// rotation is equal. If false, a KV cache made with one must be shifted to the other (make_shift)
// or recomputed.
[[nodiscard]] ROTARY_API bool rotate_alike(const Frequencies& one,
                                           const Frequencies& other) noexcept;

// Frequencies from an explicit list, one for each pair of the window: -2^40 < inv_freq < 2^40;
// attention_factor in [2^-20, 2^20].
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const HeadWindow& window,
                                                              std::vector<double> inv_freq,
                                                              double attention_factor) noexcept;

// make_frequencies() for positions with several axes: inv_freq is [pairs], or [axes][pairs] if the
// axes are dense. Mochi needs frequencies for each head, because its heads differ.
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const HeadWindow& window,
                                                              std::vector<double> inv_freq,
                                                              double attention_factor,
                                                              PairAxes axes) noexcept;

}  // namespace rotary

#endif  // ROTARY_FREQUENCIES_HPP
