// SPDX-License-Identifier: Apache-2.0
// Starts a model with the weights of another cell.
#pragma once

#include <torch/torch.h>

#include <string>

namespace rotary::lab {

// Gives the model the weights of a checkpoint, by their names. Weights that only the model has, a
// new head, are unchanged; those that only the checkpoint has must be its head or its positions.
// Position parameters are taken if name and shape agree, and from a learned table with fewer rows
// than the model's as the model's first rows. Fails, without changes, if another weight has another
// shape.
void begin_with(torch::nn::Module& model, const std::string& checkpoint);

}  // namespace rotary::lab
