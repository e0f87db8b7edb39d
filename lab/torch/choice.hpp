// SPDX-License-Identifier: Apache-2.0
// The learner of triplets, sections, same_document and similarity: masked_lm's transformer with
// segments in its input sum and a head over each segment's output.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "lab/torch/learner.hpp"

namespace rotary::lab {

// Metrics of similarity: "spearman" with "spearman_low" and "spearman_high". Of other tasks:
// "accuracy" with its 95 % interval "accuracy_low" to "accuracy_high"; same_document also has "f1"
// of yes. All have "examples" and "documents". The intervals treat examples as independent, but
// examples from one document are not.
[[nodiscard]] std::unique_ptr<Learner> make_choice(const Cell& cell, const Dataset& data);

}  // namespace rotary::lab
