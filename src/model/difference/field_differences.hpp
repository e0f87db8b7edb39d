// SPDX-License-Identifier: Apache-2.0
// Fields that differ, as text.
#pragma once

#include <vector>

#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Two rotary embeddings: members of the spec, parameters of the rule, and what stands beside them.
[[nodiscard]] std::vector<FieldDifference> field_differences(const ModelRotary& one,
                                                             const ModelRotary& other);

// Two models, apart from their rotary embeddings.
[[nodiscard]] std::vector<FieldDifference> field_differences(const ModelSpec& one,
                                                             const ModelSpec& other);

}  // namespace rotary
