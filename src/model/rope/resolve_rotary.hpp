// SPDX-License-Identifier: Apache-2.0
// Makes one rotary embedding of a model from its dictionary and the values beside it.
#pragma once

#include <optional>

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// make_frequencies() accepts the result's spec. Nothing after an error.
[[nodiscard]] std::optional<ModelRotary> resolve_rotary(const ModelConfig& config,
                                                        const LayerTypeRope& rope,
                                                        const ResolveOptions& options);

}  // namespace rotary
