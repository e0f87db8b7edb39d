// SPDX-License-Identifier: Apache-2.0
// A base or a pairing that is left out would be a silent guess: RotarySpec and HeadWindow have no
// default for either.
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
