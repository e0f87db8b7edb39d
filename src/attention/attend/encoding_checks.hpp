// SPDX-License-Identifier: Apache-2.0
// Checks the encodings of attend(): rotations, already rotated keys, Shaw's vectors, biases.
#pragma once

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Requires checked views and sequences.
[[nodiscard]] Status check_encoding(const AttendCall& call);

}  // namespace rotary
