// SPDX-License-Identifier: Apache-2.0
#include "rotation/frequencies/phase_steps.hpp"

#include <cmath>
#include <numbers>

namespace rotary {
namespace {

// Converts a phase in units of 2^-64 turn to radians in [-π, π).
long double radians(std::uint64_t phase) {
  const auto signed_phase = static_cast<long double>(static_cast<std::int64_t>(phase));
  return signed_phase * (2 * std::numbers::pi_v<long double>)*0x1p-64L;
}

}  // namespace

std::vector<double> phase_steps(std::span<const std::uint64_t> turns) {
  const auto pairs = static_cast<std::int64_t>(turns.size());
  const auto lane_stride = static_cast<std::size_t>(lane_stride_for(pairs));
  std::vector<double> steps(phase_step_count(pairs));
  for (std::size_t step = 0; step < kernels::steps_per_anchor; ++step) {
    double* const cos = steps.data() + step * 2 * lane_stride;
    double* const sin = cos + lane_stride;
    for (std::size_t pair = 0; pair < lane_stride; ++pair) {
      const std::uint64_t phase = pair < turns.size() ? step * turns[pair] : 0;
      cos[pair] = static_cast<double>(std::cos(radians(phase)));
      sin[pair] = static_cast<double>(std::sin(radians(phase)));
    }
  }
  return steps;
}

}  // namespace rotary
