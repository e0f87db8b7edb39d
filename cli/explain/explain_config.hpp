// SPDX-License-Identifier: Apache-2.0
// What each key of a model's config does to positions, in numbers.
#pragma once

#include <string>

#include "cli/output_form.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::explain {

// Of a file or a model card; prints the config's warnings.
[[nodiscard]] std::string explain_config(const std::string& path_or_card,
                                         const ResolveOptions& options, OutputForm form);

}  // namespace rotary::cli::explain
