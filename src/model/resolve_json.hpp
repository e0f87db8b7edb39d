// SPDX-License-Identifier: Apache-2.0
// resolve() of a config that is parsed, and has its overrides.
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

// An override whose key the config's family does not read is an error; none is applied here.
[[nodiscard]] Result<ResolvedConfig> resolve_json(const Json& config,
                                                  const ResolveOptions& options);

// Determines what models that do not rotate add to embeddings and to scores.
// Fills model.sinusoidal, model.relative_bias and model.encoder.
void resolve_added(const ModelConfig& config, ModelSpec& model);

}  // namespace rotary
