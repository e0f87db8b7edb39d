// SPDX-License-Identifier: Apache-2.0
#include "absolute/pair_block.hpp"

#include <algorithm>

#include "phase/turns.hpp"

namespace rotary {

void turn_block(const Sinusoidal& sinusoidal, const SplitPosition& position, std::int64_t offset,
                kernels::MakePhaseRow make_phase_row, PairBlock& block) noexcept {
  std::array<std::uint64_t, block_pairs> phases;
  const std::uint64_t* const turns = sinusoidal.turns.data() + block.first;
  // The sum of the two integers may wrap modulo 2^64, which changes phases by whole turns only.
  const auto whole_offset = static_cast<std::uint64_t>(offset);
  const auto count = static_cast<std::size_t>(block.count);
  if (position.is_integer()) {
    const std::uint64_t whole = position.whole + whole_offset;
    for (std::size_t i = 0; i < count; ++i) phases[i] = whole * turns[i];
  } else {
    const double* const inv_freq = sinusoidal.inv_freq.data() + block.first;
    for (std::size_t i = 0; i < count; ++i) {
      phases[i] = phase_of(position, turns_of(inv_freq[i])) + whole_offset * turns[i];
    }
  }
  const std::int64_t lanes =
      (block.count + kernels::lane_multiple - 1) / kernels::lane_multiple * kernels::lane_multiple;
  std::fill(phases.begin() + block.count, phases.begin() + lanes, 0);
  make_phase_row({.phases = phases.data(),
                  .lanes = lanes,
                  .attention_factor = 1,
                  .cos = block.cos.data(),
                  .sin = block.sin.data()});
}

BlockRuns runs_of(const SinusoidalSpec& spec, const PairBlock& block) noexcept {
  const std::int64_t paired = spec.spacing == SinusoidalSpacing::ends ? spec.dim / 2 * 2 : spec.dim;
  if (spec.layout == SinusoidalLayout::interleaved) {
    const std::int64_t feature = 2 * block.first;
    return {.runs = {{{feature, std::min(2 * block.count, paired - feature), 0}, {}}},
            .count = 1,
            .first_sin = 0,
            .first_cos = 1,
            .step = 2};
  }
  const std::int64_t firsts = (paired + 1) / 2;  // sines, or cosines if they come first
  const std::int64_t seconds = std::min(block.count, paired - firsts - block.first);
  const bool sin_first = spec.layout == SinusoidalLayout::sin_then_cos;
  // The last pair of an odd dim has only one feature.
  return {.runs = {{{block.first, block.count, 0}, {firsts + block.first, seconds, block_pairs}}},
          .count = seconds > 0 ? std::size_t{2} : std::size_t{1},
          .first_sin = sin_first ? 0 : static_cast<std::size_t>(block_pairs),
          .first_cos = sin_first ? static_cast<std::size_t>(block_pairs) : 0,
          .step = 1};
}

namespace {

// A step known at compile time lets the compiler vectorise the loop.
template <std::size_t step>
void scatter(const PairBlock& block, const BlockRuns& runs, RunValues& values) noexcept {
  double* const sin = values.data() + runs.first_sin;
  double* const cos = values.data() + runs.first_cos;
  for (std::size_t i = 0; i < static_cast<std::size_t>(block.count); ++i) {
    sin[i * step] = block.sin[i];
    cos[i * step] = block.cos[i];
  }
}

}  // namespace

void scatter_pairs(const PairBlock& block, const BlockRuns& runs, RunValues& values) noexcept {
  return runs.step == 1 ? scatter<1>(block, runs, values) : scatter<2>(block, runs, values);
}

void gather_pairs(const RunValues& values, const BlockRuns& runs, PairBlock& block) noexcept {
  for (std::size_t i = 0; i < static_cast<std::size_t>(block.count); ++i) {
    block.sin[i] = values[runs.first_sin + i * runs.step];
    block.cos[i] = values[runs.first_cos + i * runs.step];
  }
}

}  // namespace rotary
