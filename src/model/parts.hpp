// SPDX-License-Identifier: Apache-2.0
// Parts of a model beside its language model: towers that read images or sound, whose configs are
// within the model's.
#pragma once

#include <vector>

#include "model/wrappers.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// The config of a part. Errors: a config without such a part, which names those that it has.
[[nodiscard]] PartConfig find_part(const Reader& config, ModelPart part);

// The parts of a config, the main one first.
[[nodiscard]] std::vector<PartInfo> list_parts(const Reader& config);

}  // namespace rotary
