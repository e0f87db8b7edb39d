// SPDX-License-Identifier: Apache-2.0
// The part of results about translations.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// BLEU of a cell that finished without sacreBLEU, from the texts that it left.
void add_bleu(Outcome& outcome, const std::string& folder);

// For each claim about BLEU and each seed: both scores and their paired bootstrap; advice if there
// is no sacreBLEU. Empty if there are no such claims.
void print_bleu_comparisons(const Experiment& experiment, const std::vector<Cell>& cells,
                            const std::string& runs);

}  // namespace rotary::lab
