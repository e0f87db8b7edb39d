// SPDX-License-Identifier: Apache-2.0
// Makes one rotary embedding of a model from its dictionary and the values beside it.
#pragma once

#include <optional>

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// A rotary embedding whose spec make_frequencies() accepts; nothing after an error.
[[nodiscard]] std::optional<ModelRotary> resolve_rotary(const ModelConfig& config,
                                                        const LayerTypeRope& rope,
                                                        const ResolveOptions& options);

}  // namespace rotary
