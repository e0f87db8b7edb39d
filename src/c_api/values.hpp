// SPDX-License-Identifier: Apache-2.0
// Converts structs of rotary.h to values of the C++ API. Refuses unknown kinds of positions. The
// C++ API refuses other unknown enumerators.
#pragma once

#include <string_view>

#include "rotary/executor.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary.h"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::c_api {

[[nodiscard]] inline Extents extents_of(const int64_t (&n)[4]) noexcept {
  return {.batch = n[0], .tokens = n[1], .heads = n[2], .features = n[3]};
}
[[nodiscard]] inline Strides strides_of(const int64_t (&s)[4]) noexcept {
  return {.batch = s[0], .token = s[1], .head = s[2], .feature = s[3]};
}

// Reads an array of positions or slots.
template <class Number, class From>
[[nodiscard]] TokenArray<Number> token_array(const From& from) noexcept {
  return {.data = static_cast<const Number*>(from.data),
          .batch = from.batch,
          .tokens = from.tokens,
          .batch_stride = from.batch_stride,
          .token_stride = from.token_stride};
}

[[nodiscard]] Result<HeadsView> heads_view(std::string_view argument,
                                           const rotary_heads_view* from);
[[nodiscard]] Result<Positions> positions(const rotary_positions* from);
[[nodiscard]] Result<HeadWindow> window(const rotary_window* from);
[[nodiscard]] Result<CosSinView> cos_sin(const rotary_cos_sin* from);

// NULL gives the defaults.
[[nodiscard]] Result<RotationsOptions> rotations_options(const rotary_rotations_options* from);
[[nodiscard]] Result<Executor> executor(std::string_view argument, const rotary_executor* from);
[[nodiscard]] Result<RotateOptions> rotate_options(const rotary_rotate_options* from);

}  // namespace rotary::c_api
