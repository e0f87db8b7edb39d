// SPDX-License-Identifier: Apache-2.0
// What a training step costs with each encoding, as sequences grow and the tokens of a step stay.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"

namespace rotary::lab {

struct CostOptions {
  std::vector<std::int64_t> lengths;  // in tokens
  std::int64_t rounds = 0;            // steps of each encoding that count, >= 1
};

// Of one length: the median processor time of a step, in the order of the cells.
struct CostRow {
  std::int64_t tokens = 0;
  std::vector<double> cpu_ms;
};

// Encodings take turns, so that what else the machine does meets all of them; the first step of
// each is not counted. A step has as many tokens as one of the cell, rounded down to whole
// sequences.
[[nodiscard]] std::vector<CostRow> measure_cost(const std::vector<Cell>& cells, const Dataset& data,
                                                const CostOptions& options);

}  // namespace rotary::lab
