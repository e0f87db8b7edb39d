// SPDX-License-Identifier: Apache-2.0
// The numbers of a model of torch.
#pragma once

#include "lab/generate/weights.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {

[[nodiscard]] Weights weights_of(const Transformer& model);

}  // namespace rotary::lab
