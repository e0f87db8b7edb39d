// SPDX-License-Identifier: Apache-2.0
// Small random inputs of attention, with every encoding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/attend_call.hpp"
#include "reference/attention.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

using check::AttentionShape;

// Random numbers in [-1, 1).
[[nodiscard]] reference::Heads random_heads(const Extents& extents, std::uint64_t seed);
[[nodiscard]] reference::AttentionInputs random_inputs(const AttentionShape& shape,
                                                       std::uint64_t seed);

[[nodiscard]] HeadsView view_of(reference::Heads& heads) noexcept;
[[nodiscard]] ScoresView scores_of(std::vector<double>& values,
                                   const ScoresExtents& extents) noexcept;
[[nodiscard]] ConstTableView matrix_of(const std::vector<double>& values,
                                       std::int64_t columns) noexcept;

struct EncodingSample {
  std::string name;
  reference::AttentionEncoding encoding;
};

// Samples without an encoding, with each alone, and with several together.
[[nodiscard]] std::vector<EncodingSample> attention_encodings(const AttentionShape& shape);

}  // namespace rotary::test
