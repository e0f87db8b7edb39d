// SPDX-License-Identifier: Apache-2.0
#include "bench/start/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "bench/scale/scale_in_place.hpp"
#include "bench/start/progress.hpp"
#include "rotary/rotate.hpp"

namespace rotary::bench {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

void scale_tokens(const HeadsView& view) {
  const auto& n = view.extents;
  const std::int64_t bytes = n.tokens * n.heads * n.features * size_in_bytes(view.dtype);
  // Two bf16 read as one float are a number as ordinary as the upper one; times 1 nothing changes.
  const volatile float one = 1;
  scale_in_place(static_cast<float*>(view.data), static_cast<std::size_t>(bytes / 4), one);
}

}  // namespace

Result<Timing> measure(const Workload& workload, const Frequencies& frequencies,
                       std::int64_t tokens) {
  constexpr std::int64_t token_rounds = 400'000;  // about a second
  const std::int64_t rounds = std::clamp<std::int64_t>(token_rounds / tokens, 20, 2000);
  const HeadsView q = workload.q(tokens);
  const HeadsView k = workload.k(tokens);
  constexpr double never = std::numeric_limits<double>::infinity();
  Timing best{
      .tokens = tokens, .rows_ns = never, .rotate_ns = never, .both_ns = never, .scale_ns = never};
  auto rotations = make_rotations(frequencies, ConsecutivePositions{.first = 0, .tokens = tokens});
  if (!rotations) return rotations.error();
  Progress progress("timing", rounds);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    if (auto status = remake_rotations(*rotations, frequencies,
                                       ConsecutivePositions{.first = round, .tokens = tokens});
        !status) {
      return std::move(status).error();
    }
    const auto made = Clock::now();
    if (auto status = rotate_qk(q, k, *rotations); !status) return std::move(status).error();
    const auto rotated = Clock::now();
    scale_tokens(q);
    scale_tokens(k);
    const auto scaled = Clock::now();
    best.rows_ns = std::min(best.rows_ns, nanoseconds(made - start));
    best.rotate_ns = std::min(best.rotate_ns, nanoseconds(rotated - made));
    best.both_ns = std::min(best.both_ns, nanoseconds(rotated - start));
    best.scale_ns = std::min(best.scale_ns, nanoseconds(scaled - rotated));
    progress.advance();
  }
  for (double* each : {&best.rows_ns, &best.rotate_ns, &best.both_ns, &best.scale_ns}) {
    *each /= static_cast<double>(tokens);
  }
  return best;
}

}  // namespace rotary::bench
