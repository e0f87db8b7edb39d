// SPDX-License-Identifier: Apache-2.0
// Determines the rotary embedding and the query temperature of each layer.
#pragma once

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Fills model.layers; warns if it cannot.
void resolve_layers(const ModelConfig& config, ModelSpec& model);

// per_layer_config: an object whose keys are numbers of layers, from 0, and whose values replace
// those of the config (configuration_utils.py of Transformers 5.23). Sets head sizes that are
// common to the layers of a type. Refuses types whose layers differ, and other keys that could
// change positions.
void read_per_layer_config(Reader& config, ModelConfig& result);

}  // namespace rotary
