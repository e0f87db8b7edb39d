// SPDX-License-Identifier: Apache-2.0
// GgmlAngles: what ggml's rope operation is called with, for Numerics::ggml. All float32, as there.
#pragma once

#include <vector>

namespace rotary {

// At position p the angle θ of pair 0 is p, that of each later pair the last one's times
// theta_scale. With e = θ / freq_factors[pair], the pair turns by freq_scale * e or, where
// ext_factor is not 0, by freq_scale * e * (1 - mix) + e * mix: mix is ext_factor up to pair
// ramp_low, 0 from ramp_high on, a line between. docs/theory/numerics.md.
struct GgmlAngles {
  float theta_scale = 1;  // base^(-2/rotary_dim)
  float freq_scale = 1;   // 1 / factor, of linear and of YaRN
  float ext_factor = 0;   // 1 for YaRN
  float ramp_low = 0;     // whole pairs
  float ramp_high = 0;    // whole pairs
  float mscale = 1;       // on cos and sin: attn_factor, and what YaRN multiplies it by
  std::vector<float> freq_factors = {};  // [pairs], or empty: 1 for every pair

  friend bool operator==(const GgmlAngles&, const GgmlAngles&) = default;
};

}  // namespace rotary
