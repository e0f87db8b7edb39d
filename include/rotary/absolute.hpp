// SPDX-License-Identifier: Apache-2.0
// Absolute position encodings: x becomes x + p(position).
#pragma once

#include "rotary/learned_positions.hpp"
#include "rotary/sinusoidal.hpp"
#include "rotary/table_interpolation.hpp"
#include "rotary/tokens_view.hpp"
