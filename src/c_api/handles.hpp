// SPDX-License-Identifier: Apache-2.0
// What the opaque handles of rotary.h are.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/rotary.h"
#include "rotary/rotations.hpp"

struct rotary_model {
  rotary::ModelSpec spec;
  std::optional<std::int64_t> context_tokens;  // that it was resolved with
};

struct rotary_frequencies {
  rotary::Frequencies value;
};

struct rotary_rotations {
  rotary::Rotations value;
};
