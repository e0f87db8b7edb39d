// SPDX-License-Identifier: Apache-2.0
// Reads params.json, which Meta and Mistral publish with weights in their own formats, where the
// features of a pair are neighbours.
#pragma once

#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Whether the config has dim and n_heads, but no model_type of Hugging Face.
[[nodiscard]] bool is_params_json(const Reader& config);

// Errors: malformed_input for missing or mistyped values; unsupported for unknown keys about rotary
// embedding, and for values that the file omits and its readers disagree about.
[[nodiscard]] ModelSpec resolve_params_json(const Reader& config, const ResolveOptions& options);

}  // namespace rotary
