// SPDX-License-Identifier: Apache-2.0
#include "lab/encodings/rescaling.hpp"

#include <algorithm>
#include <string_view>

#include "rotary/scaling.hpp"

namespace rotary::lab {
namespace {

constexpr double dynamic_factor = 2;
constexpr double adjusted_base = 500000;

}  // namespace

bool is_rescaling_rule(std::string_view rule) noexcept {
  return std::ranges::find(rescaling_rules, rule) != rescaling_rules.end();
}

RotarySpec rescaled(RotarySpec spec, std::string_view rule, const Stretch& stretch) {
  const auto factor = static_cast<double>(stretch.factor);
  if (rule == "linear") spec.scaling = LinearScaling{.factor = factor};
  if (rule == "ntk") spec.scaling = NtkScaling{.alpha = factor};
  if (rule == "dynamic") {
    spec.scaling =
        DynamicNtkScaling{.factor = dynamic_factor, .original_context_tokens = stretch.tokens};
  }
  if (rule == "yarn")
    spec.scaling = YarnScaling{.factor = factor, .original_context_tokens = stretch.tokens};
  if (rule == "abf") spec.base = adjusted_base;
  return spec;
}

}  // namespace rotary::lab
