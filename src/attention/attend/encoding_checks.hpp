// SPDX-License-Identifier: Apache-2.0
// The requirements of attend() on position encodings: rotations, keys rotated beforehand, Shaw's
// vectors, bias.
#pragma once

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Requires checked views and sequences.
[[nodiscard]] Status check_encoding(const AttendCall& call);

}  // namespace rotary
