// SPDX-License-Identifier: Apache-2.0
#include "identify/cached_keys.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/extremes.hpp"
#include "base/message.hpp"
#include "identify/all_tokens.hpp"

namespace rotary::identification {
namespace {

constexpr double keys_roundings = 2;  // rounded when stored and when moved

// Rounding lets tokens that moved by the same angles differ by at most this share of their length.
constexpr double most_apart = 0.05;

// Bounds for noise to count as repeated rounding. No pair may have more than most_uneven times the
// mean noise. The squared error of floating-point rounding is three times as large along a pair's
// vector as across it. Rounding to equal steps errs equally in both directions. Noise of more than
// most_roundings roundings cannot be told from other errors.
constexpr double most_uneven = 8;
constexpr double least_along = 0.7;
constexpr double most_along = 4.5;
constexpr double most_roundings = 1000;

using Complex = std::complex<double>;

// The Turning of a second rotation, with factor 1. It reads the features that the first one wrote.
Turning nothing_more(const Start& start) {
  Turning further = start.turning;
  further.attention_factor = 1;
  further.roundings = keys_roundings;
  for (PairFeatures& at : further.features)
    at = {at.first_out, at.second_out, at.first_out, at.second_out};
  return further;
}

}  // namespace

std::optional<Sample> moved_alike(const Start& start) {
  if (start.sample.observed != Observed::heads) return std::nullopt;
  Sample moved = start.sample;
  predict({start.operation, start.turning}, start.sample, moved.before);
  double apart = 0;
  for (const PairFeatures& at : nothing_more(start).features) {
    Complex sum;
    double length = 0;
    for (std::size_t i = 0; i < moved.before.size(); i += moved.features) {
      const Complex before(moved.before[i + at.first_in], moved.before[i + at.second_in]);
      const Complex after(moved.after[i + at.first_in], moved.after[i + at.second_in]);
      sum += after * std::conj(before);
      length += std::abs(after) * std::abs(before);
    }
    apart += 2 * (length - std::abs(sum));
  }
  if (apart > most_apart * most_apart * moved.norm * moved.norm) return std::nullopt;
  moved.heads *= moved.tokens;
  moved.tokens = 1;
  moved.positions.assign(moved.axes, 0);
  return moved;
}

std::optional<Edit> shift_by_other(const Start& start, const Sample& moved, const Edit& edit,
                                   const Turning& other) {
  const std::vector<double>& own = start.turning.inv_freq;
  if (other.window != start.turning.window || other.axis_of_pair != start.turning.axis_of_pair ||
      other.inv_freq == own)
    return std::nullopt;
  Turning further = nothing_more(start);
  for (std::size_t i = 0; i < own.size(); ++i) further.inv_freq[i] = other.inv_freq[i] - own[i];
  const auto shifts = positions_of_sample(further, moved);
  if (!shifts) return std::nullopt;
  const double shift = shifts->front();
  const bool is_one = std::ranges::all_of(*shifts, [&](double each) { return each == shift; });
  if (!is_one || shift == 0 || shift != std::nearbyint(shift)) return std::nullopt;
  Operation changed = start.operation;
  edit.apply(changed);
  auto fields = differences(start.operation.spec, changed.spec);
  if (edit.field) fields.insert(fields.begin(), *edit.field);
  if (fields.empty()) return std::nullopt;
  const FieldDifference& what = fields.front();
  std::vector<double> phases = std::move(further.inv_freq);
  for (double& phase : phases) phase *= shift;
  return Edit{
      .hypothesis = &hypothesis_named("shift_frequencies"),
      .aspects = all_aspects,
      .apply =
          [kept = std::make_shared<const std::vector<double>>(std::move(phases))](
              Operation& operation) {
            operation.phases = kept;
            operation.roundings = keys_roundings;
          },
      .field = rows_field("shift", message("by ", shift, " with ", what.field, " ", what.one),
                          message("with ", what.field, " ", what.other))};
}

std::optional<Edit> more_roundings(const Start& start) {
  const Sample& sample = start.sample;
  if (sample.observed != Observed::heads) return std::nullopt;
  std::vector<double> predicted;
  predict({start.operation, start.turning}, sample, predicted);
  double along = 0;
  double across = 0;
  double largest = 0;
  for (const PairFeatures& at : start.turning.features) {
    double error = 0;
    double length = 0;
    for (std::size_t i = 0; i < predicted.size(); i += sample.features) {
      const Complex right(predicted[i + at.first_out], predicted[i + at.second_out]);
      const Complex seen(sample.after[i + at.first_out], sample.after[i + at.second_out]);
      if (right == Complex()) continue;
      const Complex noise = (seen - right) * std::conj(right) / std::abs(right);
      along += noise.real() * noise.real();
      across += noise.imag() * noise.imag();
      error += std::norm(noise);
      length += std::norm(right);
    }
    largest = larger(largest, length > 0 ? error / length : 0);
  }
  const double mean = (along + across) / (sample.norm * sample.norm);
  const double noise = rounding_noise(sample.dtype);
  const double roundings = std::nearbyint(mean / (noise * noise));
  const bool is_noise = along >= least_along * across && along <= most_along * across &&
                        largest <= most_uneven * mean;
  if (!is_noise || roundings < 2 || roundings > most_roundings) return std::nullopt;
  return Edit{.hypothesis = &hypothesis_named("roundings"),
              .aspects = precision_aspect,
              .apply = [roundings](Operation& operation) { operation.roundings = roundings; },
              .field = rows_field("roundings", "1", message("about ", roundings))};
}

}  // namespace rotary::identification
