// SPDX-License-Identifier: Apache-2.0
// resolve() for a parsed config with applied overrides.
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

// Expects the overrides in `config`. Checks that the family reads the overridden keys.
[[nodiscard]] Result<ResolvedConfig> resolve_json(const Json& config,
                                                  const ResolveOptions& options);

// Fills model.sinusoidal, model.relative_bias and model.encoder.
void resolve_added(const ModelConfig& config, ModelSpec& model);

}  // namespace rotary
