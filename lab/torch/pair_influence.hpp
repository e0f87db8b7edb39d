// SPDX-License-Identifier: Apache-2.0
// Measures each pair of a trained rotary model: its energy, and its effect on loss and distance.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {

// Measures on cell.training.pair_rows sequences of the text. Sorts by layer, then by pair. The cell
// must satisfy the experiment reader's rules for pair_rows. The model is unchanged afterwards.
[[nodiscard]] std::vector<PairInfluence> pair_influences(Transformer& model, const Cell& cell,
                                                         std::string_view text);

// Means over the faster and the slower half of the pairs in all layers: "fast_unturned",
// "slow_unturned", "fast_removed", "slow_removed" (nats), "fast_distance" and "slow_distance"
// (tokens). Also each half's share of the energy of queries and keys: "fast_energy", "slow_energy".
[[nodiscard]] std::map<std::string, double> metrics_of_pairs(
    const std::vector<PairInfluence>& pairs);

}  // namespace rotary::lab
