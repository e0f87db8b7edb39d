// SPDX-License-Identifier: Apache-2.0
// Rotary embedding written plainly in double, with one of the mistakes that have shipped elsewhere.
#pragma once

#include "properties/implementation.hpp"

namespace rotary::test {

enum class Bug {
  none,
  one_sin_with_the_wrong_sign,
  turns_backwards,
  exponent_i_over_d,  // base^(-i/d) where base^(-2i/d) was meant
  frequency_of_the_next_pair,
  last_pair_swapped,  // (-x_{d-1}, x_d) where (-x_d, x_{d-1}) was meant
  key_one_position_late,
  attention_factor_missing,
  attention_factor_on_cos_only,
  half_where_interleaved_was_meant,
  order_kept_where_it_should_change,  // interleaved where interleaved_to_half was meant
  inverse_keeps_the_factor,           // A R^T where R^-1 / A was meant
  transpose_is_forward,
};

[[nodiscard]] Implementation planted(Bug bug);

}  // namespace rotary::test
