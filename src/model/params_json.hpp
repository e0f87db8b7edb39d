// SPDX-License-Identifier: Apache-2.0
// Reads the params.json that Meta and Mistral publish beside weights in their own formats. These
// formats keep the features of a pair adjacent.
#pragma once

#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Whether the config has dim and n_heads, but no model_type of Hugging Face.
[[nodiscard]] bool is_params_json(const Reader& config);

// Errors: malformed_input for missing or mistyped values; unsupported for unknown keys about rotary
// embedding, and for missing values whose defaults differ between readers.
[[nodiscard]] ModelSpec resolve_params_json(const Reader& config, const ResolveOptions& options);

}  // namespace rotary
