// SPDX-License-Identifier: Apache-2.0
// Tokens that go to consecutive slots of one block, and the ways to store their heads.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernels.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotations.hpp"
#include "rotation/apply/apply_rotations.hpp"

namespace rotary {

// Tokens of one batch row. transfer: views of batch 1 with the run's tokens and adjacent features;
// dst may have another dtype than src.
struct TokenRun {
  Transfer transfer;
  std::int64_t batch;
  std::int64_t first_token;
  std::optional<QuantizedHeadsView> quantized = {};  // destination in 8 bits, instead of dst
};

// Copies features [begin, end) of every head, rounding once.
void store_features(const Transfer& run, std::int64_t begin, std::int64_t end,
                    const kernels::CacheKernels& kernels) noexcept;

// Stores the rotated keys, times the attention factor. Copies features outside the rotary window.
void store_rotated(const TokenRun& run, const Rotations& rotations,
                   const kernels::KernelTable& kernels) noexcept;

// Stores heads with a norm, or in 8 bits: rounds once, from float32. k_norm, rotations: null for
// none.
void store_through_floats(const TokenRun& run, const KeyNorm* k_norm, const Rotations* rotations,
                          const kernels::KernelTable& kernels) noexcept;

}  // namespace rotary
