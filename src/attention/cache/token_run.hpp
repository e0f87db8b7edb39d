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

// A run of batch row `batch`. transfer: views of batch 1 with the run's tokens and adjacent
// features; dst may have another dtype than src.
struct TokenRun {
  Transfer transfer;
  std::int64_t batch;
  std::int64_t first_token;
  std::optional<QuantizedHeadsView> quantized = {};  // where it goes in 8 bits, instead of dst
};

// Copies features [begin, end) of every head, rounding once.
void store_features(const Transfer& run, std::int64_t begin, std::int64_t end,
                    const kernels::CacheKernels& kernels) noexcept;

// Stores keys A R k; features outside the rotary window are copied.
void store_rotated(const TokenRun& run, const Rotations& rotations,
                   const kernels::KernelTable& kernels) noexcept;

// Stores heads in 8 bits. rotations: null if they do not turn.
void store_quantized(const TokenRun& run, const Rotations* rotations,
                     const kernels::KernelTable& kernels) noexcept;

// Stores normalised keys; k_norm says whether before or after rotation. rotations may be null.
void store_normalized(const TokenRun& run, const KeyNorm& k_norm, const Rotations* rotations,
                      const kernels::KernelTable& kernels) noexcept;

// The forward kernel that reads and writes these dtypes.
[[nodiscard]] kernels::Rotate forward_kernel(const kernels::KernelTable& kernels,
                                             const Rotations& rotations, DType from,
                                             DType to) noexcept;

}  // namespace rotary
