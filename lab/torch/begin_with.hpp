// SPDX-License-Identifier: Apache-2.0
// Starting from what another cell learned.
#pragma once

#include <torch/torch.h>

#include <string>

namespace rotary::lab {

// Gives the model the weights of a checkpoint, by their names. What the model alone has, a new
// head, stays as it is; what the checkpoint alone has must be its head or its positions. Positions
// are the model's own: theirs are taken where name and shape agree, and of a learned table with
// more rows than the checkpoint's, the first rows. Fails, having changed nothing, where another
// weight has another shape.
void begin_with(torch::nn::Module& model, const std::string& checkpoint);

}  // namespace rotary::lab
