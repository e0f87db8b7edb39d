// SPDX-License-Identifier: Apache-2.0
// Reads a causal model's checkpoint for code without torch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lab/experiment/cell.hpp"
#include "lab/generate/dense.hpp"

namespace rotary::lab {

[[nodiscard]] Weights read_weights(const Cell& cell, const std::string& checkpoint);

// libtorch's own logits for the whole sequence, [tokens][byte_tokens].
[[nodiscard]] std::vector<float> whole_logits(const Cell& cell, const std::string& checkpoint,
                                              std::span<const std::int64_t> tokens);

}  // namespace rotary::lab
