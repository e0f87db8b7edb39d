// SPDX-License-Identifier: Apache-2.0
// From the command line to what a figure is made from. Failures name the option, the requirement
// and what was got; an option that the figure does not read is refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.hpp"
#include "cli/plot/figures.hpp"

namespace rotary::cli::plot {

struct RequestOptions {
  std::vector<std::string> configs;  // files, cards, or "rope" with model.settings
  ModelOptions model;                // for each of them
  std::optional<std::string> layer_type, last, dim, seed, words, table;
};

// Warnings about the configs go to standard error.
[[nodiscard]] Request read_request(const FigureMaker& maker, const RequestOptions& options);

}  // namespace rotary::cli::plot
