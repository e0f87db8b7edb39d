// SPDX-License-Identifier: Apache-2.0
// per_layer_config: an object of values that some layers have instead of the config's, under the
// layers' numbers, counted from 0 (configuration_utils.py of Transformers 5.23).
#pragma once

#include "model/model_config.hpp"

namespace rotary {

// Sets the sizes of heads that the layers of a type have in common. Refuses types whose layers
// differ, and other keys that could change positions.
void read_per_layer_config(Reader& config, ModelConfig& result);

}  // namespace rotary
