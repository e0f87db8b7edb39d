// SPDX-License-Identifier: Apache-2.0
// per_layer_config of Transformers 5: values that differ in single layers.
#pragma once

#include "model/model_config.hpp"

namespace rotary {

// Reads the head_dim of full layers from it in families that have one of their own. Refuses every
// other value of it that could change positions.
void read_per_layer_config(Reader& config, ModelConfig& result);

}  // namespace rotary
