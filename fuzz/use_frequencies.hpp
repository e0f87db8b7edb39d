// SPDX-License-Identifier: Apache-2.0
// Uses accepted models and frequencies as a program would.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::fuzz {

// The frequencies keep the promises of their comments, and a head rotates by them at positions near
// and far: every number is finite, other features and the bytes around are unchanged, and the
// length of each pair changes by A only.
void use_frequencies(const Frequencies& frequencies);

// Every layer is described, every text is text, and frequencies can be made, and used, of every
// rotary embedding: in this context, or in the one that it was trained for.
void check_model(const ModelSpec& model, const std::optional<std::int64_t>& context);

}  // namespace rotary::fuzz
