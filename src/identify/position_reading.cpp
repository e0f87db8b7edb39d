// SPDX-License-Identifier: Apache-2.0
#include "identify/position_reading.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "base/extremes.hpp"

namespace rotary::identification {
namespace {

using Complex = std::complex<double>;

constexpr double turn = 2 * std::numbers::pi;
constexpr double farthest = 0x1p20;
constexpr double farthest_back = 0x1p12;
// The most whole turns of the slowest pair to try.
constexpr double most_turns = 0x1p14;
// With more candidates than this, there are too few pairs to tell them apart.
constexpr std::size_t most_candidates = 1000;
// A token's residual may be this many times the mean rounding error, because a token has few
// numbers and some arithmetic rounds three times.
constexpr double token_margin = 2.5;
// Two positions can be told apart if their squared residuals differ by this many times one
// feature's share of the squared tolerance. More heads do not help, because rounded rows of cos and
// sin have the same error in all heads.
constexpr double told_apart = 10;
// A pair's angle is only noise if the pair is shorter than `shortest` times the longest. If it is
// longer than `clear` times the longest, noise changes the angle by at most most_noise radians.
constexpr double shortest = 1e-9;
constexpr double clear = 0.05;
constexpr double most_noise = 0.5;
// The relative float32 error of the angles of fast pairs, which decide a position. Power,
// reciprocal, factor, position and product round once each. The power enlarges the rounding error
// of the exponent by up to ln(base) / 4.
constexpr double angle_error = 8 * 0x1p-24;

double wrapped(double angle) { return angle - turn * std::nearbyint(angle / turn); }

}  // namespace

bool is_readable(const Operation& operation) noexcept {
  return operation.rotates && !operation.cos_sin_swapped && !operation.other_table &&
         operation.counted == Counted::token && operation.coordinate_of_axis.empty() &&
         !operation.positions_rounded && !operation.angles_rounded &&
         operation.position_factor == 1 && operation.position_offset == 0 && !operation.positions;
}

PositionReader::PositionReader(const Turning& turning) : turning_(turning) {
  for (std::size_t i = 0; i < turning.inv_freq.size(); ++i) {
    const std::size_t axis =
        turning.axis_of_pair.empty() ? 0 : static_cast<std::size_t>(turning.axis_of_pair[i]);
    if (axis >= pairs_of_axis_.size()) pairs_of_axis_.resize(axis + 1);
    if (turning.inv_freq[i] != 0) pairs_of_axis_[axis].push_back(i);
  }
  for (auto& pairs : pairs_of_axis_)
    std::ranges::sort(pairs, {}, [&](std::size_t i) { return std::abs(turning.inv_freq[i]); });
}

// Likely positions [axes] of a token: the expected one, the previous token's plus 1, the previous
// token's, and the expected one with the previous shift.
std::vector<std::vector<double>> PositionReader::likely(const std::vector<double>& expected) const {
  if (found_.empty()) return {expected};
  std::vector<double> next = found_;
  std::vector<double> shifted = expected;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    ++next[axis];
    shifted[axis] += found_[axis] - expected_[axis];
  }
  return {expected, next, found_, shifted};
}

void PositionReader::measure(const Sample& sample, std::size_t token) {
  pairs_.assign(turning_.features.size(), {});
  std::vector<Complex> sums(pairs_.size());
  std::vector<bool> turns(sample.features);
  const double a = turning_.attention_factor;
  fixed_ = after_ = 0;
  for (std::size_t head = 0; head < sample.heads; ++head) {
    const auto x = sample.row(sample.before, token, head);
    const auto y = sample.row(sample.after, token, head);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const PairFeatures& at = turning_.features[i];
      const Complex before(x[at.first_in], x[at.second_in]);
      const Complex after(y[at.first_out], y[at.second_out]);
      sums[i] += after * std::conj(before);
      // |y - A R x|² = (|y| - A |x|)² + 2 A |x| |y| (1 - cos of the remaining angle).
      const double apart = std::abs(after) - a * std::abs(before);
      fixed_ += apart * apart;
      pairs_[i].length += std::abs(after) * std::abs(before);
      turns[at.first_out] = turns[at.second_out] = true;
    }
    for (std::size_t f = 0; f < sample.features; ++f) {
      after_ += y[f] * y[f];
      const double rest = y[f] - turning_.rest_factor * x[f];
      if (!turns[f]) fixed_ += rest * rest;
    }
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    // No position removes the differences between heads.
    fixed_ += 2 * a * larger(0.0, pairs_[i].length - std::abs(sums[i]));
    pairs_[i] = {.angle = std::arg(sums[i]) - (turning_.phases.empty() ? 0 : turning_.phases[i]),
                 .length = std::abs(sums[i]),
                 .frequency = turning_.inv_freq[i]};
    if (pairs_[i].frequency == 0)
      fixed_ += 2 * a * pairs_[i].length * (1 - std::cos(pairs_[i].angle));
  }
}

double PositionReader::misfit(std::size_t axis, double position) const {
  double sum = 0;
  for (const std::size_t i : pairs_of_axis_[axis]) {
    const double half = std::sin(wrapped(pairs_[i].angle - position * pairs_[i].frequency) / 2);
    sum += 2 * pairs_[i].length * half * half;
  }
  return 2 * turning_.attention_factor * sum;
}

double PositionReader::residual(double misfits) const {
  return after_ > 0 ? std::sqrt((fixed_ + misfits) / after_) : std::sqrt(fixed_ + misfits);
}

// The pairs of an axis with angles above noise, the slowest first.
std::vector<std::size_t> PositionReader::measured_pairs(std::size_t axis) const {
  double longest = 0;
  for (const std::size_t i : pairs_of_axis_[axis]) longest = larger(longest, pairs_[i].length);
  std::vector<std::size_t> measured;
  for (const std::size_t i : pairs_of_axis_[axis])
    if (pairs_[i].length > shortest * longest) measured.push_back(i);
  return measured;
}

// The position near `position` that fits the pairs. Empty if the clear angle of a pair contradicts
// it.
std::optional<double> PositionReader::refined(const std::vector<std::size_t>& pairs,
                                              double position) const {
  double longest = 0;
  for (const std::size_t i : pairs) longest = larger(longest, pairs_[i].length);
  double known = 0;
  for (const std::size_t i : pairs) {
    const Pair& pair = pairs_[i];
    const double left = wrapped(pair.angle - position * pair.frequency);
    if (std::abs(left) > most_noise && pair.length > clear * longest) return std::nullopt;
    known += pair.frequency * pair.frequency;
    position += left * pair.frequency / known;
  }
  return position;
}

// `position` + 1 or `position` - 1, if it fits as well as `position`.
std::optional<double> PositionReader::neighbour(std::size_t axis, double position) const {
  const double here = misfit(axis, position);
  for (const double step : {1.0, -1.0})
    if (misfit(axis, position + step) <= here + slack_) return position + step;
  return std::nullopt;
}

bool PositionReader::is_best_nearby(std::size_t axis, double position) const {
  double slope = 0;
  double curve = 0;
  for (const std::size_t i : pairs_of_axis_[axis]) {
    const Pair& pair = pairs_[i];
    const double left = wrapped(pair.angle - position * pair.frequency);
    slope += pair.length * pair.frequency * left;
    curve += pair.length * pair.frequency * pair.frequency;
  }
  if (!(curve > 0) || std::abs(slope / curve) <= angle_error * std::abs(position)) return true;
  return misfit(axis, position) <= misfit(axis, position + slope / curve) + slack_;
}

std::vector<double> PositionReader::solved(std::size_t axis, double hint) const {
  struct Candidate {
    double position;
    double misfit;
  };
  std::vector<Candidate> candidates = {{hint, misfit(axis, hint)}};
  const std::vector<std::size_t> pairs = measured_pairs(axis);
  if (pairs.empty()) return {hint};
  const Pair& slowest = pairs_[pairs.front()];
  const double period = turn / std::abs(slowest.frequency);
  const double first =
      larger(std::floor(-farthest_back / period), std::floor(hint / period) - most_turns / 2);
  const double last = smaller(std::ceil(farthest / period), first + most_turns);
  for (double k = first; k <= last && candidates.size() < most_candidates; ++k) {
    const auto near = refined(pairs, slowest.angle / slowest.frequency + k * period);
    if (!near) continue;
    const double real = *near;
    const double whole = std::nearbyint(real);
    const double of_real = misfit(axis, real);
    const double of_whole = misfit(axis, whole);
    const bool is_whole = of_whole <= of_real + slack_;
    candidates.push_back(is_whole ? Candidate{whole, of_whole} : Candidate{real, of_real});
  }
  double least = candidates.front().misfit;
  for (const Candidate& each : candidates) least = smaller(least, each.misfit);
  std::erase_if(candidates, [&](const Candidate& each) { return each.misfit > least + slack_; });
  std::ranges::sort(candidates, {},
                    [&](const Candidate& each) { return std::abs(each.position - hint); });
  std::vector<double> found;
  for (const Candidate& each : candidates)
    if (found.empty() || each.position != found.back()) found.push_back(each.position);
  return found;
}

double PositionReader::tolerance_at(const Sample& sample, const std::vector<double>& found) const {
  double sum = 0;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    for (const std::size_t i : pairs_of_axis_[axis]) {
      const double angle = found[axis] * turning_.inv_freq[i];
      sum += angle * angle;
    }
  }
  const double angles = std::sqrt(sum / static_cast<double>(turning_.inv_freq.size())) * 0x1p-24;
  return token_margin * std::hypot(std::sqrt(turning_.roundings) * rounding_noise(sample.dtype),
                                   smaller(angles, 0.02));
}

double PositionReader::slack_at(const Sample& sample, const std::vector<double>& found) const {
  const double tolerance = tolerance_at(sample, found);
  return told_apart * tolerance * tolerance * after_ / static_cast<double>(sample.features);
}

TokenReading PositionReader::reading_at(const Sample& sample, const std::vector<double>& at) const {
  double misfits = 0;
  for (std::size_t axis = 0; axis < axes(); ++axis) misfits += misfit(axis, at[axis]);
  return {.found = at,
          .residual = residual(misfits),
          .seen = std::sqrt(after_),
          .tolerance = tolerance_at(sample, at)};
}

// The reading at a hint. Empty if the hint does not fit or a position near it fits clearly better.
std::optional<TokenReading> PositionReader::accepted(const Sample& sample,
                                                     const std::vector<double>& hint) {
  TokenReading reading = reading_at(sample, hint);
  if (!reading.is_exact()) return std::nullopt;
  slack_ = slack_at(sample, hint);
  for (std::size_t axis = 0; axis < axes(); ++axis)
    if (!is_best_nearby(axis, hint[axis])) return std::nullopt;
  for (std::size_t axis = 0; axis < axes() && !reading.alias; ++axis)
    reading.alias = neighbour(axis, hint[axis]);
  return reading;
}

TokenReading PositionReader::read_near(const Sample& sample,
                                       const std::vector<std::vector<double>>& hints) {
  for (const std::vector<double>& hint : hints)
    if (auto reading = accepted(sample, hint)) return *std::move(reading);
  slack_ = slack_at(sample, hints.back());
  const std::vector<double>& expected = hints.front();
  std::vector<double> found;
  std::optional<double> alias;
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    const std::vector<double> solutions = solved(axis, hints.back()[axis]);
    found.push_back(solutions.front());
    if (solutions.size() > 1 && !alias) alias = solutions[1];
    if (!alias) alias = neighbour(axis, found.back());
  }
  // Tries one shift of all axes before separate shifts.
  for (std::size_t axis = 0; axis < axes() && axes() > 1; ++axis) {
    std::vector<double> shifted = expected;
    for (double& position : shifted) position += found[axis] - expected[axis];
    if (auto reading = accepted(sample, shifted)) return *std::move(reading);
  }
  TokenReading reading = reading_at(sample, found);
  reading.alias = alias;
  return reading;
}

TokenReading PositionReader::read(const Sample& sample, std::size_t token) {
  measure(sample, token);
  std::vector<double> expected;
  for (std::size_t axis = 0; axis < axes(); ++axis)
    expected.push_back(sample.positions_on(axis)[token]);
  TokenReading reading = read_near(sample, likely(expected));
  if (reading.is_exact()) {
    found_ = reading.found;
    expected_ = std::move(expected);
  }
  return reading;
}

}  // namespace rotary::identification
