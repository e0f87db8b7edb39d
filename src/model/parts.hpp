// SPDX-License-Identifier: Apache-2.0
// Finds the configs of a model's parts: the main model, and towers for images or sound.
#pragma once

#include <vector>

#include "model/wrappers.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// The config of a part. Adds an error that names the existing parts if there is no such part.
[[nodiscard]] PartConfig find_part(const Reader& config, ModelPart part);

// The parts of a config, the main one first.
[[nodiscard]] std::vector<PartInfo> list_parts(const Reader& config);

}  // namespace rotary
