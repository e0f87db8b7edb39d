// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/torch.h>

#include <string>

namespace rotary::lab {

// Copies a checkpoint's weights by name. Weights that only the model has (a new head) keep their
// values. The model may lack the checkpoint's head and positions, but no other weight. Position
// parameters are copied if name and shape agree; a shorter learned table fills the first rows.
// Fails without changes if another weight's shape differs.
void begin_with(torch::nn::Module& model, const std::string& checkpoint);

}  // namespace rotary::lab
