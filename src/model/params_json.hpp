// SPDX-License-Identifier: Apache-2.0
// params.json, which lies beside the weights that Meta and Mistral publish in their own formats.
// There the features of a pair are neighbours, also for models whose Hugging Face weights were
// permuted to halves.
#pragma once

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Whether the config is one: it has dim and n_heads, and no model_type of Hugging Face.
[[nodiscard]] bool is_params_json(const ConfigObject& config);

// Errors: malformed_input for missing or mistyped values; unsupported for keys about rotary
// embedding that are not understood, and for what the file does not say and its readers disagree
// about.
[[nodiscard]] Result<ModelSpec> resolve_params_json(const ConfigObject& config,
                                                    const ResolveOptions& options);

}  // namespace rotary
