// SPDX-License-Identifier: Apache-2.0
#include "model/difference/rows_comparison.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "base/extremes.hpp"
#include "base/pairing.hpp"

namespace rotary {
namespace {

// True if pair i reads the same features in both windows. Scores do not depend on where it writes.
bool read_alike(const HeadWindow& one, const HeadWindow& other) {
  return one.rotary_dim == other.rotary_dim && one.first_feature == other.first_feature &&
         one.blocks == other.blocks && reads_halves(one.pairing) == reads_halves(other.pairing);
}

// Frequencies for text, whose position is the same on all axes. Frequencies of dense axes add up.
template <class Number>
std::vector<Number> of_text(const Frequencies& frequencies, const std::vector<Number>& table) {
  if (!frequencies.axes.is_dense()) return table;
  const auto pairs = static_cast<std::size_t>(frequencies.window.pairs());
  std::vector<Number> sums(pairs);
  for (std::size_t i = 0; i < table.size(); ++i) sums[i % pairs] += table[i];
  return sums;
}

// The distances 1, 2, 4, … below `tokens` - 1, then `tokens` - 1.
std::vector<std::int64_t> distances_below(std::int64_t tokens) {
  std::vector<std::int64_t> distances;
  for (std::int64_t distance = 1; distance < tokens - 1; distance *= 2)
    distances.push_back(distance);
  if (tokens > 1) distances.push_back(tokens - 1);
  return distances;
}

}  // namespace

RowsComparison::RowsComparison(const HeadWindow& one, const HeadWindow& other) {
  found_.same_features = read_alike(one, other);
  if (!found_.same_features) found_.largest_score_change.reset();
  if (found_.same_features) differs_.resize(static_cast<std::size_t>(one.pairs()));
}

void RowsComparison::add(const Frequencies& one, const Frequencies& other, PositionSpan span) {
  if (span.first >= span.last) return;
  if (found_.same_features)
    add_pairs(one, other, span);
  else
    add_features(one, other, span);
}

void RowsComparison::find_first(const std::vector<DriftingPair>& pairs, PositionSpan span) {
  // If points are more than √2 * tolerance apart, one component differs by more than the tolerance.
  for (const DriftingPair& pair : pairs) {
    const auto sure = pair.first_beyond(std::numbers::sqrt2 * row_tolerance * (1 + 0x1p-30), span);
    if (sure) span.last = *sure + 1;
  }
  for (const DriftingPair& pair : pairs) {
    const auto first = pair.first_apart(row_tolerance, span);
    if (!first) continue;
    found_.first_position = *first;
    span.last = *first;
  }
  if (!found_.first_position) return;
  for (const DriftingPair& pair : pairs)
    found_.at_first = larger(found_.at_first, pair.apart(*found_.first_position));
}

void RowsComparison::take_angle(double drift, double one, double other, std::size_t pair) {
  const double angle = smaller(drift, std::numbers::pi);
  if (angle > found_.largest_angle_error) {
    found_.largest_angle_error = angle;
    found_.largest_angle_pair = static_cast<std::int64_t>(pair);
  }
  const double half_sine = std::sin(angle / 2);
  const double change = std::hypot(one - other, 2 * std::sqrt(one * other) * half_sine);
  found_.largest_score_change = larger(*found_.largest_score_change, change);
}

void RowsComparison::take_correlation(double correlation, std::int64_t distance) {
  if (correlation >= found_.least_correlation) return;
  found_.least_correlation = correlation;
  found_.least_correlation_distance = distance;
}

void RowsComparison::add_pairs(const Frequencies& one, const Frequencies& other,
                               PositionSpan span) {
  const auto turns = of_text(one, one.turns);
  const auto other_turns = of_text(other, other.turns);
  const auto inv_freq = of_text(one, one.inv_freq);
  const auto other_inv_freq = of_text(other, other.inv_freq);
  const double factor = one.attention_factor;
  const double other_factor = other.attention_factor;
  std::vector<DriftingPair> pairs;
  for (std::size_t i = 0; i < turns.size(); ++i)
    pairs.emplace_back(Turning{turns[i], factor}, Turning{other_turns[i], other_factor});
  if (!found_first()) find_first(pairs, span);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!differs_[i]) {
      const double sure = std::numbers::sqrt2 * row_tolerance * (1 + 0x1p-30);
      differs_[i] = pairs[i].first_beyond(sure, span) || pairs[i].first_apart(row_tolerance, span);
    }
    const double drift =
        std::abs(inv_freq[i] - other_inv_freq[i]) * static_cast<double>(span.last - 1);
    take_angle(drift, factor * factor, other_factor * other_factor, i);
  }
  const auto passing = static_cast<double>(one.window.head_dim - one.window.rotary_dim);
  for (const std::int64_t distance : distances_below(span.last)) {
    double sum = passing;
    for (std::size_t i = 0; i < turns.size(); ++i)
      sum += 2 * sin_cos(turns[i] - other_turns[i], distance).cos;
    take_correlation(sum / static_cast<double>(one.window.head_dim), distance);
  }
}

std::vector<RowsComparison::Feature> RowsComparison::features_of(const Frequencies& frequencies) {
  const HeadWindow& window = frequencies.window;
  const FeatureOrder order = pair_order(window.pairing).read;
  std::vector<Feature> features(static_cast<std::size_t>(window.head_dim));
  const auto turns = of_text(frequencies, frequencies.turns);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const auto [first, second] = features_of_pair(window, order, i);
    const double factor = frequencies.attention_factor;
    features[first] = {turns[i], factor, second};
    features[second] = {0 - turns[i], factor, first};
  }
  return features;
}

void RowsComparison::add_features(const Frequencies& one, const Frequencies& other,
                                  PositionSpan span) {
  const std::vector<Feature> features = features_of(one);
  const std::vector<Feature> other_features = features_of(other);
  struct Compared {
    double apart = 0;
    double product = 0;  // of the feature's two rows, without A
  };
  const auto compare = [](const Feature& a, const Feature& b, std::int64_t position) -> Compared {
    const SinCos at_a = sin_cos(a.turns, position);
    const SinCos at_b = sin_cos(b.turns, position);
    const double cosines = std::abs(a.factor * at_a.cos - b.factor * at_b.cos);
    const double a_sine = a.factor * at_a.sin;
    const double b_sine = b.factor * at_b.sin;
    if (a.partner == b.partner)
      return {.apart = larger(cosines, std::abs(a_sine - b_sine)),
              .product = at_a.cos * at_b.cos + at_a.sin * at_b.sin};
    return {.apart = larger(cosines, larger(std::abs(a_sine), std::abs(b_sine))),
            .product = at_a.cos * at_b.cos};
  };
  for (std::int64_t p = span.first; p < span.last && !found_first(); ++p) {
    for (std::size_t f = 0; f < features.size(); ++f)
      found_.at_first = larger(found_.at_first, compare(features[f], other_features[f], p).apart);
    if (found_.at_first > row_tolerance) found_.first_position = p;
  }
  if (!found_first()) found_.at_first = 0;
  for (const std::int64_t distance : distances_below(span.last)) {
    double sum = 0;
    for (std::size_t f = 0; f < features.size(); ++f)
      sum += compare(features[f], other_features[f], distance).product;
    take_correlation(sum / static_cast<double>(features.size()), distance);
  }
}

RowsDifference RowsComparison::result() && {
  for (std::size_t i = 0; i < differs_.size(); ++i)
    if (differs_[i]) found_.pairs.push_back(static_cast<std::int64_t>(i));
  return std::move(found_);
}

}  // namespace rotary
