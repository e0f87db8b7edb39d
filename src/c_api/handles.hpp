// SPDX-License-Identifier: Apache-2.0
// The contents of the opaque handles of rotary.h.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/rotary.h"
#include "rotary/rotations.hpp"

struct rotary_model {
  rotary::ModelSpec spec;
  std::optional<std::int64_t> context_tokens;  // passed when it was resolved
};

struct rotary_frequencies {
  rotary::Frequencies value;
};

struct rotary_rotations {
  rotary::Rotations value;
};
