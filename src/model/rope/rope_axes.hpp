// SPDX-License-Identifier: Apache-2.0
// Positions with several axes: what a family's row and the keys of a rope dictionary say of them.
#pragma once

#include <cstdint>
#include <optional>

#include "model/model_config.hpp"
#include "rotary/axes.hpp"

namespace rotary {

// Takes the keys about axes out of the dictionary: mrope_section and its companions, and rope types
// that mean nothing but axes. The reader of the scaling rule then does not see them.
void take_axes(LayerTypeRope& rope, const Family& family, Findings& findings);

// The axes of an embedding that turns `pairs` pairs; nothing if positions have one axis. If a
// family's axes are not known, the model is read for text alone, with a warning. Adds an error for
// lists that do not fit the pairs. Notes in `sources` where the axes come from.
[[nodiscard]] std::optional<Axes> resolve_axes(const ModelConfig& config, const LayerTypeRope& rope,
                                               std::int64_t pairs, Sources& sources);

}  // namespace rotary
