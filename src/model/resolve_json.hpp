// SPDX-License-Identifier: Apache-2.0
// resolve() for a config that is already parsed and has its overrides applied.
#pragma once

#include <vector>

#include "model/json/json.hpp"
#include "model/json/reader.hpp"
#include "model/model_config.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"

namespace rotary {

struct ResolvedConfig {
  ModelSpec model;
  std::vector<Dispute> disputes;
};

// Overrides are not applied here, only checked: one whose key the config's family does not read is
// an error.
[[nodiscard]] Result<ResolvedConfig> resolve_json(const Json& config,
                                                  const ResolveOptions& options);

// For models that do not rotate: determines what they add to embeddings and scores. Fills
// model.sinusoidal, model.relative_bias and model.encoder.
void resolve_added(const ModelConfig& config, ModelSpec& model);

}  // namespace rotary
