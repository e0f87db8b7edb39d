// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotary_spec.hpp"

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "rotation/frequencies/frequency_checks.hpp"

namespace rotary {

std::string_view to_string(Pairing pairing) noexcept { return name_or_unknown(pairing); }
std::string_view to_string(AxisArrangement arrangement) noexcept {
  return name_or_unknown(arrangement);
}
std::string_view to_string(AxisExponents exponents) noexcept { return name_or_unknown(exponents); }
std::string_view to_string(Sense sense) noexcept { return name_or_unknown(sense); }
std::string_view to_string(Numerics numerics) noexcept { return name_or_unknown(numerics); }
std::string_view to_string(Rounding rounding) noexcept { return name_or_unknown(rounding); }

Result<HeadWindow> head_window(const RotarySpec& spec) noexcept {
  return guarded([&]() -> Result<HeadWindow> {
    HeadWindow window{.head_dim = spec.head_dim,
                      .rotary_dim = spec.rotary_dim.value_or(spec.head_dim),
                      .first_feature = spec.first_feature,
                      .pairing = spec.pairing,
                      .blocks = spec.blocks};
    // Negative numbers, whose difference may overflow, are left to validate().
    if (!spec.rotary_dim && spec.first_feature >= 0 && spec.head_dim >= 0)
      window.rotary_dim -= spec.first_feature;
    if (auto status = validate(window); !status) return std::move(status).error();
    return window;
  });
}

}  // namespace rotary
