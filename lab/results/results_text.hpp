// SPDX-License-Identifier: Apache-2.0
// Results for people and as CSV.
#pragma once

#include <string>

#include "lab/results/results.hpp"

namespace rotary::lab {

// Tables of the cells, and of the comparison with published numbers; then the verdicts.
[[nodiscard]] std::string text_of(const Results& results);

// Results as CSV (RFC 4180, but for line ends of one byte), numbers as they are read back exactly.
// arm,family,seed,measure,value: a line for each number of each finished cell, among them "loss",
// "loss 4x yarn", "last_quarter 4x", the metrics by their names, "steps", "parameters", "cpu_s".
[[nodiscard]] std::string measures_csv(const Results& results);

// arm,seed,step,training,validation: the losses on the way.
[[nodiscard]] std::string curves_csv(const Results& results);

// arm,seed,layer,pair and a column for each number of PairInfluence; "" where no cell has pairs.
[[nodiscard]] std::string pairs_csv(const Results& results);

}  // namespace rotary::lab
