// SPDX-License-Identifier: Apache-2.0
// Positions with several axes, from a family's row and the keys of a rope dictionary.
#pragma once

#include <cstdint>
#include <optional>

#include "model/model_config.hpp"
#include "rotary/axes.hpp"

namespace rotary {

// Removes mrope_section and similar keys, and rope types that mean only axes, from the dictionary.
// The reader of the scaling rule must not see them.
void take_axes(LayerTypeRope& rope, const Family& family, Findings& findings);

// The axes of an embedding with this number of pairs; nothing if positions have one axis. If a
// family's axes are unknown, the model is read for text alone, with a warning. Adds an error for
// lists that do not fit the pairs.
[[nodiscard]] std::optional<Axes> resolve_axes(const ModelConfig& config, const LayerTypeRope& rope,
                                               std::int64_t pairs, Sources& sources);

}  // namespace rotary
