// SPDX-License-Identifier: Apache-2.0
// Positions with several axes: what a family's row and the keys of a rope dictionary say of them.
#pragma once

#include <cstdint>
#include <optional>

#include "model/model_config.hpp"
#include "rotary/axes.hpp"

namespace rotary {

// Moves the keys about axes out of the dictionary, so that the reader of the rule meets none of
// them: mrope_section and what belongs to it, and the rope types that say nothing else.
void take_axes(LayerTypeRope& rope, const Family& family, Findings& findings);

// The axes of an embedding that turns so many pairs; nothing for positions of one axis. A family
// whose axes cannot be told is read for text alone, with a warning. Errors: lists that do not fit.
[[nodiscard]] std::optional<Axes> resolve_axes(const ModelConfig& config, const LayerTypeRope& rope,
                                               std::int64_t pairs, Sources& sources);

}  // namespace rotary
