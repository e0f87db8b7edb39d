// SPDX-License-Identifier: Apache-2.0
#include "rotary/model_spec.hpp"

namespace rotary {

std::string_view to_string(LayerEncoding encoding) noexcept {
  switch (encoding) {
    case LayerEncoding::rotary:
      return "rotary";
    case LayerEncoding::none:
      return "none";
    case LayerEncoding::alibi:
      return "alibi";
    case LayerEncoding::t5_bias:
      return "t5_bias";
    case LayerEncoding::learned:
      return "learned";
    case LayerEncoding::sinusoidal:
      return "sinusoidal";
    case LayerEncoding::no_attention:
      return "no_attention";
  }
  return "unknown";
}

}  // namespace rotary
