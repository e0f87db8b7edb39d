// SPDX-License-Identifier: Apache-2.0
// Consecutive tokens that go to consecutive slots of one block, and the ways to store their heads.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotations.hpp"
#include "rotation/apply/apply_rotations.hpp"

namespace rotary {

// A run of batch row `batch`. transfer: of batch 1 and the run's tokens, features adjacent, dst
// perhaps of another dtype than src.
struct TokenRun {
  Transfer transfer;
  std::int64_t batch;
  std::int64_t first_token;
};

// Features [begin, end) of every head, copied or rounded once.
void store_features(const Transfer& run, std::int64_t begin, std::int64_t end,
                    const kernels::CacheKernels& kernels) noexcept;

// Keys A R k; the features that do not turn are stored as they are.
void store_rotated(const TokenRun& run, const Rotations& rotations,
                   const kernels::KernelTable& kernels) noexcept;

// Keys with a norm, in the order that it says; rotations may be null.
void store_normalized(const TokenRun& run, const KeyNorm& k_norm, const Rotations* rotations,
                      const kernels::KernelTable& kernels) noexcept;

// The kernel of direction forward that reads and writes these dtypes.
[[nodiscard]] kernels::Rotate forward_kernel(const kernels::KernelTable& kernels,
                                             const Rotations& rotations, DType from,
                                             DType to) noexcept;

}  // namespace rotary
