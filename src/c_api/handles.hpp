// SPDX-License-Identifier: Apache-2.0
// The contents of the handles that several files read.
#pragma once

#include "rotary/frequencies.hpp"
#include "rotary/rotary.h"
#include "rotary/rotations.hpp"

struct rotary_frequencies {
  rotary::Frequencies value;
};

struct rotary_rotations {
  rotary::Rotations value;
};
