// SPDX-License-Identifier: Apache-2.0
// Makes one rotary embedding of a model from its dictionary and the values beside it.
#pragma once

#include <string>
#include <vector>

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary {

// The result is validated: make_frequencies() accepts its spec.
[[nodiscard]] Result<ModelRotary> resolve_rotary(const ModelConfig& config,
                                                 const LayerTypeRope& rope,
                                                 const ResolveOptions& options,
                                                 std::vector<std::string>& warnings);

}  // namespace rotary
