// SPDX-License-Identifier: Apache-2.0
// The learner of causal_lm and masked_lm: a transformer on the bytes of a text.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "lab/torch/learner.hpp"

namespace rotary::lab {

[[nodiscard]] std::unique_ptr<Learner> make_language_model(const Cell& cell, const Dataset& data);

}  // namespace rotary::lab
