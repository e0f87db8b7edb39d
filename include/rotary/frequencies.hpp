// SPDX-License-Identifier: Apache-2.0
// Frequencies: how fast each pair of one RotarySpec turns.
//
//   const auto frequencies = *make_frequencies(spec);
//   frequencies.inv_freq[0];  // 1: radians per position of pair 0
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

// The arguments of ggml's rope operation, for Numerics::ggml. All float32, as in ggml. At position
// p, let e = p * theta_scale^i / freq_factors[i] for pair i; repeated multiplication makes the
// power. The pair turns by freq_scale * e or, if ext_factor is not 0, by freq_scale * e * (1 - mix)
// + e * mix. mix is ext_factor up to pair ramp_low and falls linearly to 0 at pair ramp_high.
// docs/theory/numerics.md.
struct GgmlAngles {
  float theta_scale = 1;                 // base^(-2/rotary_dim)
  float freq_scale = 1;                  // 1 / factor, for linear and YaRN
  float ext_factor = 0;                  // 1 for YaRN
  float ramp_low = 0;                    // pair index, a whole number
  float ramp_high = 0;                   // pair index, a whole number
  float mscale = 1;                      // multiplies cos and sin: attn_factor * YaRN's factor
  std::vector<float> freq_factors = {};  // [pairs], or empty: 1 for every pair

  friend bool operator==(const GgmlAngles&, const GgmlAngles&) = default;
};

// How fast each pair turns. Every error bound of this library refers to inv_freq. With
// Numerics::transformers, inv_freq holds the model's float32 numbers (except for
// Rounding::double_angle). With Numerics::ggml, inv_freq describes the angles before float32
// rounding. Numerics::vllm is stored as transformers with Rounding::table.
struct Frequencies {
  HeadWindow window;
  std::vector<double> inv_freq;      // [pairs], radians per position
  std::vector<std::uint64_t> turns;  // [pairs], turns per position in units of 2^-64, modulo 1
  // cos and sin of the first positions, for make_rotations. Dense axes have no steps, and their
  // inv_freq and turns are [axes][pairs].
  std::vector<double> steps;
  double attention_factor = 1;  // A: multiplies cos and sin; scores grow by A^2
  // The context lengths with these frequencies: all, unless the rule depends on the length.
  ContextRange contexts = {};
  // xpos, numerics and rounding are those of the spec.
  std::optional<Xpos> xpos = {};  // query and key need separate rows (Role)
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;
  std::optional<GgmlAngles> ggml = {};  // only for Numerics::ggml
  PairAxes axes = {};                   // the axis of each pair
};

// context_tokens: the length of the context, >= 1, for rules that depend on it
// (depends_on_context); other rules ignore it. Transformers uses the number of tokens so far in
// each forward pass, vLLM and llama.cpp the longest possible context. Errors: unsupported for
// several axes with xpos or numerics ggml; invalid_argument if the spec breaks a requirement stated
// with its fields, if a needed context length is missing, if the attention factor is outside
// [2^-20, 2^20], or if ggml's operation cannot express the spec under Numerics::ggml.
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(
    const RotarySpec& spec, std::optional<std::int64_t> context_tokens = {}) noexcept;

// Returns the error that make_frequencies() would return, if any.
[[nodiscard]] ROTARY_API Status validate(const RotarySpec& spec,
                                         std::optional<std::int64_t> context_tokens = {}) noexcept;

// True if everything that affects a rotation is equal, so that keys rotated with one match queries
// rotated with the other. If false, a KV cache must be shifted (make_shift) or recomputed.
[[nodiscard]] ROTARY_API bool rotate_alike(const Frequencies& one,
                                           const Frequencies& other) noexcept;

// Frequencies from a list with one entry for each pair of the window: -2^40 < inv_freq < 2^40;
// attention_factor in [2^-20, 2^20].
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const HeadWindow& window,
                                                              std::vector<double> inv_freq,
                                                              double attention_factor) noexcept;

// Frequencies from a list for positions with several axes. inv_freq: [pairs], or [axes][pairs] for
// dense axes. Mochi's heads differ, so each head needs its own frequencies.
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const HeadWindow& window,
                                                              std::vector<double> inv_freq,
                                                              double attention_factor,
                                                              PairAxes axes) noexcept;

}  // namespace rotary

#endif  // ROTARY_FREQUENCIES_HPP
