// SPDX-License-Identifier: Apache-2.0
// Determines which layers of a model rotate, with which rotary embedding, and how their queries
// grow with position.
#pragma once

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Fills model.layers; warns if it cannot.
void resolve_layers(const ModelConfig& config, ModelSpec& model);

}  // namespace rotary
