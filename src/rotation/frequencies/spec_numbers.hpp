// SPDX-License-Identifier: Apache-2.0
// The numbers of a spec without the tables that rotating needs, for what compares many specs.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/axes.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

struct SpecNumbers {
  HeadWindow window;
  ScaledFrequencies scaled;
  std::optional<GgmlAngles> ggml;
  PairAxes axes;
};

// Errors: those of make_frequencies() for the spec; what its numbers lead to is not checked.
[[nodiscard]] Result<SpecNumbers> numbers_of(const RotarySpec& spec,
                                             std::optional<std::int64_t> context_tokens);

}  // namespace rotary
