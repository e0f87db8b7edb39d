// SPDX-License-Identifier: Apache-2.0
// The checks of linear_attend() and their error messages.
#pragma once

#include "attention/linear/linear_memory.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Checks all inputs and returns the sizes of the call. Both functions require strides of 0 along
// extents of 1 (with_used_strides).
[[nodiscard]] Result<LinearSizes> check_linear_inputs(const LinearHeads& heads,
                                                      const FeatureMap& map,
                                                      const LinearAttentionOptions& options);

// Checks the outputs. memory: only the part that the call uses.
[[nodiscard]] Status check_linear_outputs(const HeadsView& out, const LinearHeads& heads,
                                          const FeatureMap& map,
                                          const LinearAttentionOptions& options,
                                          std::span<std::byte> memory);

}  // namespace rotary
