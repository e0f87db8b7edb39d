// SPDX-License-Identifier: Apache-2.0
// Which figures matter for an encoding.
#pragma once

#include <vector>

#include "cli/plot/figures.hpp"
#include "cli/report/subjects.hpp"

namespace rotary::cli::page {

[[nodiscard]] std::vector<PlacedFigure> figures_of_rotary(const plot::Subject& subject);

// Of an encoding that does not rotate, as far as its kind alone decides it.
[[nodiscard]] std::vector<PlacedFigure> figures_of_kind(LayerEncoding kind);

}  // namespace rotary::cli::page
