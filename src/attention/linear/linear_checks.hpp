// SPDX-License-Identifier: Apache-2.0
// Every requirement of linear_attend(), with the words for the one that is broken.
#pragma once

#include "attention/linear/linear_memory.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Everything but out, the state and the memory: what the sizes of the work follow from. Require,
// as the other, strides of 0 on single indices (without_unused_strides).
[[nodiscard]] Result<LinearSizes> check_linear_inputs(const LinearHeads& heads,
                                                      const FeatureMap& map,
                                                      const LinearAttentionOptions& options);

// What is written. memory: as much of it as the call uses.
[[nodiscard]] Status check_linear_outputs(const HeadsView& out, const LinearHeads& heads,
                                          const FeatureMap& map,
                                          const LinearAttentionOptions& options,
                                          std::span<std::byte> memory);

}  // namespace rotary
