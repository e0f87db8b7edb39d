// SPDX-License-Identifier: Apache-2.0
// Results as figures (cli/plot/figure.hpp), which gnuplot draws.
#pragma once

#include <vector>

#include "cli/plot/figure.hpp"
#include "lab/results/results.hpp"

namespace rotary::lab {

// Returns the pictures that an experiment is looked at by, each by its own name: how losses fall,
// what longer sequences cost, losses over learning rates, metrics over lengths, metrics of each arm
// with the interval of its seeds, and what each pair of a rotary model does ("e1-causal-lm-pairs").
[[nodiscard]] std::vector<cli::plot::Figure> figures_of(const Results& results);

}  // namespace rotary::lab
