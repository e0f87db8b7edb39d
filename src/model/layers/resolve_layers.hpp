// SPDX-License-Identifier: Apache-2.0
// Determines which layers of a model rotate, with which rotary embedding, and by which factor their
// queries grow with position.
#pragma once

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Fills model.layers; warns if it cannot.
void resolve_layers(const ModelConfig& config, ModelSpec& model);

// per_layer_config: an object whose keys are numbers of layers, counted from 0. The values for a
// layer replace those of the config (configuration_utils.py of Transformers 5.23).
// Sets the sizes of heads that the layers of a type have in common. Refuses types whose layers
// differ, and other keys that could change positions.
void read_per_layer_config(Reader& config, ModelConfig& result);

}  // namespace rotary
