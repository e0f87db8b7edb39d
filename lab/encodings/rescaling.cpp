// SPDX-License-Identifier: Apache-2.0
#include "lab/encodings/rescaling.hpp"

#include <optional>
#include <string_view>

namespace rotary::lab {

std::optional<Scaling> rescaled(std::string_view rule, const Stretch& stretch) {
  const auto factor = static_cast<double>(stretch.factor);
  if (rule == "linear") return LinearScaling{.factor = factor};
  if (rule == "ntk") return NtkScaling{.alpha = factor};
  if (rule == "yarn")
    return YarnScaling{.factor = factor, .original_context_tokens = stretch.tokens};
  return std::nullopt;
}

}  // namespace rotary::lab
