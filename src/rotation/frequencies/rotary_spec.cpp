// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotary_spec.hpp"

#include <algorithm>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotation/frequencies/head_window.hpp"

namespace rotary {

std::string_view to_string(Pairing pairing) noexcept {
  switch (pairing) {
    case Pairing::half:
      return "half";
    case Pairing::interleaved:
      return "interleaved";
    case Pairing::interleaved_to_half:
      return "interleaved_to_half";
  }
  return "unknown";
}

std::string_view to_string(Sense sense) noexcept {
  switch (sense) {
    case Sense::positive:
      return "positive";
    case Sense::negative:
      return "negative";
  }
  return "unknown";
}

std::string_view to_string(Numerics numerics) noexcept {
  switch (numerics) {
    case Numerics::exact:
      return "exact";
    case Numerics::transformers:
      return "transformers";
    case Numerics::ggml:
      return "ggml";
  }
  return "unknown";
}

std::string_view to_string(Rounding rounding) noexcept {
  switch (rounding) {
    case Rounding::every_step:
      return "every_step";
    case Rounding::table:
      return "table";
    case Rounding::result:
      return "result";
    case Rounding::double_angle:
      return "double_angle";
  }
  return "unknown";
}

Status validate(const HeadWindow& window) {
  const auto last = all_pairings.end();
  if (std::find(all_pairings.begin(), last, window.pairing.get()) == last) {
    return invalid_argument("pairing must be half, interleaved or interleaved_to_half, got value ",
                            static_cast<std::int32_t>(window.pairing.get()));
  }
  if (window.head_dim < 2 || window.head_dim > max_head_dim) {
    return invalid_argument("head_dim must be in 2..", max_head_dim, ", got ", window.head_dim);
  }
  if (window.first_feature < 0 || window.first_feature > window.head_dim - 2) {
    return invalid_argument("first_feature must be in 0..", window.head_dim - 2,
                            " (head_dim - 2), got ", window.first_feature);
  }
  const std::int64_t room = window.head_dim - window.first_feature;
  if (window.rotary_dim < 2 || window.rotary_dim > room || window.rotary_dim % 2 != 0) {
    return invalid_argument("rotary_dim must be even and in 2..", room,
                            " (head_dim - first_feature), got ", window.rotary_dim);
  }
  return {};
}

Status validate_attention_factor(double attention_factor) {
  if (attention_factor >= 0x1p-20 && attention_factor <= 0x1p20) return {};
  return invalid_argument("attention_factor must be in [2^-20, 2^20], got ", attention_factor);
}

Result<HeadWindow> head_window(const RotarySpec& spec) noexcept {
  return guarded([&]() -> Result<HeadWindow> {
    HeadWindow window{.head_dim = spec.head_dim,
                      .rotary_dim = spec.rotary_dim.value_or(spec.head_dim),
                      .first_feature = spec.first_feature,
                      .pairing = spec.pairing};
    // Subtracts only where that cannot overflow; otherwise validate() refuses one of the two.
    if (!spec.rotary_dim && spec.first_feature >= 0 && spec.head_dim >= 0)
      window.rotary_dim -= spec.first_feature;
    if (auto status = validate(window); !status) return std::move(status).error();
    return window;
  });
}

}  // namespace rotary
