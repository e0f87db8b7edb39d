// SPDX-License-Identifier: Apache-2.0
// The learner of triplets, sections and same_document: the transformer of masked_lm, with segments
// in its input sum and a head over its output for each segment.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "lab/torch/learner.hpp"

namespace rotary::lab {

// Metrics of its outcome: "accuracy" with "accuracy_low" and "accuracy_high", its 95 % interval as
// if "examples" were independent, although examples of one of the "documents" are not;
// same_document: "f1" of yes.
[[nodiscard]] std::unique_ptr<Learner> make_choice(const Cell& cell, const Dataset& data);

}  // namespace rotary::lab
