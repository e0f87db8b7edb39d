// SPDX-License-Identifier: Apache-2.0
// Uses accepted frequencies as a program would.
#pragma once

#include "rotary/frequencies.hpp"

namespace rotary::fuzz {

// They are what their comments promise, and a head rotates by them at positions near and far: every
// number finite, the other features and the bytes around untouched, the length of each pair kept
// but for A.
void use_frequencies(const Frequencies& frequencies);

}  // namespace rotary::fuzz
