// SPDX-License-Identifier: Apache-2.0
// RotarySpec, HeadWindow and Axes have no default for base, pairing and exponents, because a
// default would be a silent guess.
#include "rotary/rotary_spec.hpp"

rotary::RotarySpec spec() {
  return {
      .head_dim = 128,
#ifndef WITHOUT_BASE
      .base = 10000.0,
#endif
#ifndef WITHOUT_PAIRING
      .pairing = rotary::Pairing::half,
#endif
      .scaling = rotary::NoScaling{},
  };
}

rotary::HeadWindow window() {
  return {
      .head_dim = 128,
      .rotary_dim = 128,
      .first_feature = 0,
#ifndef WITHOUT_WINDOW_PAIRING
      .pairing = rotary::Pairing::half,
#endif
  };
}

rotary::Axes axes() {
  return {
      .pairs = {16, 24, 24},
#ifndef WITHOUT_EXPONENTS
      .exponents = rotary::AxisExponents::shared,
#endif
  };
}
