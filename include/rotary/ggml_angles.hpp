// SPDX-License-Identifier: Apache-2.0
// GgmlAngles: the arguments of ggml's rope operation, for Numerics::ggml. All float32, as in ggml.
//
//   RotarySpec spec = …;
//   spec.numerics = Numerics::ggml;  // make_frequencies then fills Frequencies::ggml
#pragma once

#include <vector>

namespace rotary {

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

}  // namespace rotary
