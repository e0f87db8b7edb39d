// SPDX-License-Identifier: Apache-2.0
// Uses accepted frequencies as a program would.
#pragma once

#include "rotary/frequencies.hpp"

namespace rotary::fuzz {

// The frequencies keep the promises of their comments, and a head rotates by them at positions near
// and far: every number is finite, other features and the bytes around are unchanged, and the
// length of each pair changes by A only.
void use_frequencies(const Frequencies& frequencies);

}  // namespace rotary::fuzz
