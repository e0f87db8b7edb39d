// SPDX-License-Identifier: Apache-2.0
// Measures each pair of a trained rotary model: how large it is, and what is lost without it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {

// By layer, then by pair, on cell.training.pair_rows sequences of the text. Requires a cell that
// the experiment's reader lets have pair_rows. The model is left as it was.
[[nodiscard]] std::vector<PairInfluence> pair_influences(Transformer& model, const Cell& cell,
                                                         std::string_view text);

// Means over pairs and layers, of the faster half of the pairs and of the slower: "fast_unturned",
// "slow_unturned", "fast_removed", "slow_removed" (nats), "fast_distance", "slow_distance"
// (tokens); and their shares of the energy of queries and keys, "fast_energy" and "slow_energy".
[[nodiscard]] std::map<std::string, double> metrics_of_pairs(
    const std::vector<PairInfluence>& pairs);

}  // namespace rotary::lab
