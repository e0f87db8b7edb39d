// SPDX-License-Identifier: Apache-2.0
// The learner of triplets, sections and same_document: masked_lm's transformer with segments in its
// input sum and a head over each segment's output.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "lab/torch/learner.hpp"

namespace rotary::lab {

// Metrics: "accuracy" and its 95 % interval "accuracy_low" to "accuracy_high", as if "examples"
// were independent, although those from one of the "documents" are not; for same_document "f1" of
// yes.
[[nodiscard]] std::unique_ptr<Learner> make_choice(const Cell& cell, const Dataset& data);

}  // namespace rotary::lab
