// SPDX-License-Identifier: Apache-2.0
// One rotary embedding of a model, from its dictionary and what the config says beside it.
#pragma once

#include <string>
#include <vector>

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Validated: make_frequencies takes the spec.
[[nodiscard]] Result<ModelRotary> resolve_rotary(const ModelConfig& config,
                                                 const LayerTypeRope& rope,
                                                 const ResolveOptions& options,
                                                 std::vector<std::string>& warnings);

}  // namespace rotary
