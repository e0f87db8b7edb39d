// SPDX-License-Identifier: Apache-2.0
// Uses accepted models and frequencies as a program would.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::fuzz {

// Checks that frequencies keep the promises of their comments. Rotates a head by them at near and
// far positions: every number must be finite. Other features and the bytes around must not change.
// Each pair's length must change by the factor A only.
void use_frequencies(const Frequencies& frequencies);

// Checks that every layer has a description and every text is valid. Makes and uses frequencies of
// every rotary embedding, in this context or in the trained one.
void check_model(const ModelSpec& model, const std::optional<std::int64_t>& context);

}  // namespace rotary::fuzz
