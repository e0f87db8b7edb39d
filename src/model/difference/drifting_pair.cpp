// SPDX-License-Identifier: Apache-2.0
#include "model/difference/drifting_pair.hpp"

#include <cmath>
#include <numbers>

#include "base/extremes.hpp"

namespace rotary {
namespace {

// The largest drift, in units of 2^-64 turns, at which the points A and A' e^(i drift) are within
// `distance` of each other: sin²(drift / 2) = (distance² - (A - A')²) / (4 A A'), rounded down.
// Nothing if they never are; more than half a turn if they always are.
std::optional<double> allowed_drift(double one, double other, double distance) {
  const double gap = one - other;
  const double squared = (distance - gap) * (distance + gap) / (4 * one * other);
  if (squared < 0) return std::nullopt;
  if (squared >= 1) return 0x1p64;
  const double radians = 2 * std::asin(std::sqrt(squared));
  return radians / (2 * std::numbers::pi) * 0x1p64 * (1 - 0x1p-40);
}

}  // namespace

SinCos sin_cos(std::uint64_t turns, std::int64_t position) noexcept {
  const auto phase = static_cast<std::int64_t>(turns * static_cast<std::uint64_t>(position));
  const double angle = static_cast<double>(phase) * (2 * std::numbers::pi * 0x1p-64);
  return {.sin = std::sin(angle), .cos = std::cos(angle)};
}

double DriftingPair::apart(std::int64_t position) const noexcept {
  const SinCos one = sin_cos(one_.turns, position);
  const SinCos other = sin_cos(other_.turns, position);
  return larger(std::abs(one_.factor * one.cos - other_.factor * other.cos),
                std::abs(one_.factor * one.sin - other_.factor * other.sin));
}

std::int64_t DriftingPair::drift(std::int64_t position) const noexcept {
  return static_cast<std::int64_t>((one_.turns - other_.turns) *
                                   static_cast<std::uint64_t>(position));
}

std::optional<std::int64_t> DriftingPair::first_beyond(double distance,
                                                       PositionSpan span) const noexcept {
  if (span.first >= span.last) return std::nullopt;
  const auto allowed = allowed_drift(one_.factor, other_.factor, distance);
  if (!allowed) return span.first;
  if (*allowed >= 0x1p63) return std::nullopt;
  const auto limit = static_cast<std::int64_t>(*allowed);
  const auto step = static_cast<std::int64_t>(one_.turns - other_.turns);
  if (step == 0) return std::nullopt;
  const std::uint64_t size =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  // If the rest of the circle is shorter than a step, a step may jump across it, back into
  // [-limit, limit].
  for (std::int64_t now = drift(span.first); now <= limit && now >= -limit;
       now = drift(span.first)) {
    const std::uint64_t way =
        step > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(now)
                 : static_cast<std::uint64_t>(limit) + static_cast<std::uint64_t>(now);
    const std::uint64_t steps = way / size + 1;
    if (steps >= static_cast<std::uint64_t>(span.last - span.first)) return std::nullopt;
    span.first += static_cast<std::int64_t>(steps);
  }
  return span.first;
}

std::optional<std::int64_t> DriftingPair::first_apart(double tolerance,
                                                      PositionSpan span) const noexcept {
  while (const auto candidate = first_beyond(tolerance, span)) {
    if (apart(*candidate) > tolerance) return candidate;
    span.first = *candidate + 1;
  }
  return std::nullopt;
}

}  // namespace rotary
