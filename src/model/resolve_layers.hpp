// SPDX-License-Identifier: Apache-2.0
// Which layers of a model rotate, with which of its rotary embeddings, and what grows their
// queries.
#pragma once

#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Fills model.layers, and warns where it cannot.
[[nodiscard]] Status resolve_layers(const ModelConfig& config, ModelSpec& model);

}  // namespace rotary
