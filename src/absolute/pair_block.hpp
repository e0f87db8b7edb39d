// SPDX-License-Identifier: Apache-2.0
// Some pairs of one token: their cosines and sines, and the features of the token that hold them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "phase/fractional_phase.hpp"
#include "rotary/absolute.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {

inline constexpr std::int64_t block_pairs = run_features / 2;
static_assert(block_pairs % kernels::lane_multiple == 0);

// Pairs [first, first + count), count <= block_pairs.
struct PairBlock {
  std::int64_t first = 0;
  std::int64_t count = 0;
  alignas(64) std::array<double, block_pairs> cos;
  alignas(64) std::array<double, block_pairs> sin;
};

// Sets cos and sin for (position + offset) * inv_freq; the sum is exact. Requires first and count.
void turn_block(const Sinusoidal& sinusoidal, const SplitPosition& position, std::int64_t offset,
                kernels::MakePhaseRow make_phase_row, PairBlock& block) noexcept;

// Features [feature, feature + count) of a token, at [value, value + count) in RunValues.
struct FeatureRun {
  std::int64_t feature = 0;
  std::int64_t count = 0;
  std::size_t value = 0;
};

// The features of a block's pairs. If sines and cosines alternate, they are one run. Otherwise
// sines are one run and cosines are another.
struct BlockRuns {
  std::array<FeatureRun, 2> runs;
  std::size_t count = 0;
  // Indices of the first pair's sine and cosine in RunValues, and the step from pair to pair.
  std::size_t first_sin = 0;
  std::size_t first_cos = 0;
  std::size_t step = 1;
};

[[nodiscard]] BlockRuns runs_of(const SinusoidalSpec& spec, const PairBlock& block) noexcept;

// Copy the block's pairs to the values of its runs (scatter) or back (gather).
void scatter_pairs(const PairBlock& block, const BlockRuns& runs, RunValues& values) noexcept;
void gather_pairs(const RunValues& values, const BlockRuns& runs, PairBlock& block) noexcept;

}  // namespace rotary
