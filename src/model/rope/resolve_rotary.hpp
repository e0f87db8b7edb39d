// SPDX-License-Identifier: Apache-2.0
// Makes one rotary embedding of a model from its dictionary and the values beside it.
#pragma once

#include <optional>

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// The result is checked: make_frequencies() accepts its spec. Otherwise nothing, and an error is
// added.
[[nodiscard]] std::optional<ModelRotary> resolve_rotary(const ModelConfig& config,
                                                        const LayerTypeRope& rope,
                                                        const ResolveOptions& options);

}  // namespace rotary
