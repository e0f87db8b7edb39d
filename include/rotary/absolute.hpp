// SPDX-License-Identifier: Apache-2.0
// Absolute position encodings: x becomes x + p(position).
//
//   const auto table = *make_sinusoidal(transformer_sinusoidal(512));
//   add_sinusoidal(x, x, table, ConsecutivePositions{.tokens = 128});  // in place
#pragma once

#include "rotary/learned_positions.hpp"
#include "rotary/sinusoidal.hpp"
#include "rotary/table_interpolation.hpp"
#include "rotary/tokens_view.hpp"
