// SPDX-License-Identifier: Apache-2.0
// Measures each pair of a trained rotary model: its size, and the loss without it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {

// The influences by layer, then by pair, on cell.training.pair_rows sequences of the text. The cell
// must satisfy the experiment reader's rules for pair_rows. The model is unchanged afterwards.
[[nodiscard]] std::vector<PairInfluence> pair_influences(Transformer& model, const Cell& cell,
                                                         std::string_view text);

// Means over layers of the faster and slower half of pairs: "fast_unturned", "slow_unturned",
// "fast_removed", "slow_removed" (nats), "fast_distance", "slow_distance" (tokens); and their
// shares of the energy of queries and keys, "fast_energy" and "slow_energy".
[[nodiscard]] std::map<std::string, double> metrics_of_pairs(
    const std::vector<PairInfluence>& pairs);

}  // namespace rotary::lab
