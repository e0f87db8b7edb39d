// SPDX-License-Identifier: Apache-2.0
// Determines what models that do not rotate add to embeddings and to scores.
#pragma once

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Fills model.sinusoidal, model.relative_bias and model.encoder.
void resolve_added(const ModelConfig& config, ModelSpec& model);

}  // namespace rotary
