// SPDX-License-Identifier: Apache-2.0
// Lists the fields in which two embeddings or models differ, as text.
#pragma once

#include <vector>

#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// The fields in which two rotary embeddings differ: members of the spec, parameters of the rule,
// and the other members of ModelRotary.
[[nodiscard]] std::vector<FieldDifference> field_differences(const ModelRotary& one,
                                                             const ModelRotary& other);

// The fields in which two models differ, except those of their rotary embeddings.
[[nodiscard]] std::vector<FieldDifference> field_differences(const ModelSpec& one,
                                                             const ModelSpec& other);

}  // namespace rotary
