// SPDX-License-Identifier: Apache-2.0
#include "identify/structure.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/extremes.hpp"
#include "identify/search.hpp"

namespace rotary::identification {
namespace {

using Complex = std::complex<double>;

// Radians per token. Scaling rules leave pairs that rotate faster unchanged.
constexpr double fast_turn = 0.02;

struct Sums {
  double before = 0;  // sum of squares
  double after = 0;
  double products = 0;  // sum of products of lengths before and after
  double outside = 0;   // squared changes of unrotated features
};

double squared(double value) { return value * value; }

std::pair<std::size_t, std::size_t> changed_features(const Sample& sample) {
  std::size_t first = sample.features;
  std::size_t end = 0;
  for (std::size_t i = 0; i < sample.before.size(); ++i) {
    if (sample.before[i] == sample.after[i]) continue;
    first = std::min<std::size_t>(first, i % sample.features);
    end = std::max<std::size_t>(end, i % sample.features + 1);
  }
  return {first, end};
}

double length(double x, double y) { return std::sqrt(x * x + y * y); }

// The structure with this window and the best-fitting attention factor A.
FoundStructure structure_with(const Sample& sample, const HeadWindow& window) {
  const auto pairs = pair_features(window);
  std::vector<bool> turns(sample.features);
  Sums sums;
  const std::size_t rows = sample.tokens * sample.heads;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto x = std::span(sample.before).subspan(row * sample.features, sample.features);
    const auto y = std::span(sample.after).subspan(row * sample.features, sample.features);
    for (const PairFeatures& at : pairs) {
      const double before = length(x[at.first_in], x[at.second_in]);
      const double after = length(y[at.first_out], y[at.second_out]);
      sums.before += before * before;
      sums.after += after * after;
      sums.products += before * after;
      turns[at.first_out] = turns[at.second_out] = true;
    }
  }
  const double a = sums.before > 0 ? sums.products / sums.before : 1;
  double multiplied = 0;  // squared errors if A multiplies unrotated features, too
  for (std::size_t i = 0; i < sample.before.size(); ++i) {
    if (turns[i % sample.features]) continue;
    sums.outside += squared(sample.after[i] - sample.before[i]);
    multiplied += squared(sample.after[i] - a * sample.before[i]);
  }
  const double rest = larger(0.0, sums.after - 2 * a * sums.products + a * a * sums.before);
  return {.window = window,
          .attention_factor = a,
          .deviation = std::sqrt(rest + smaller(sums.outside, multiplied)) / sample.norm};
}

// The expected window, then windows of every even width that cover all changed features. Windows
// start at feature 0, at 1/2 or 3/4 of the head, or at the first changed pair.
std::vector<HeadWindow> candidate_windows(const Sample& sample,
                                          const std::optional<HeadWindow>& expected) {
  const auto features = static_cast<std::int64_t>(sample.features);
  const auto [first, end] = changed_features(sample);
  std::vector<HeadWindow> windows;
  if (expected) windows.push_back(*expected);
  std::vector<std::int64_t> starts = {0};
  for (const std::int64_t divisor : {2, 4}) starts.push_back(features - features / divisor);
  if (first > 0) starts.push_back(static_cast<std::int64_t>(first) / 2 * 2);
  for (const std::int64_t start : starts) {
    if (start > static_cast<std::int64_t>(first)) continue;
    for (std::int64_t width = features - start; width >= 2; --width) {
      if (start + width < static_cast<std::int64_t>(end) || width % 2 != 0) continue;
      for (const Pairing pairing : all_pairings)
        windows.push_back({features, width, start, pairing, 1});
    }
    const std::int64_t whole = features - start;
    if (whole % 4 == 0) windows.push_back({features, whole, start, Pairing::half, 2});
  }
  return windows;
}

Complex turned(const Sample& sample, const PairFeatures& at, std::size_t token) {
  Complex sum = 0;
  for (std::size_t h = 0; h < sample.heads; ++h) {
    const auto x = sample.row(sample.before, token, h);
    const auto y = sample.row(sample.after, token, h);
    sum += Complex(y[at.first_out], y[at.second_out]) *
           std::conj(Complex(x[at.first_in], x[at.second_in]));
  }
  return sum;
}

bool are_neighbours(const Sample& sample, std::size_t token) {
  for (std::size_t axis = 0; axis < sample.axes; ++axis) {
    const auto positions = sample.positions_on(axis);
    if (positions[token + 1] - positions[token] != 1) return false;
  }
  return true;
}

bool is_preferred(const FoundStructure& structure, const Sample& sample) {
  const auto features = static_cast<std::int64_t>(sample.features);
  const std::int64_t width = structure.window.rotary_dim;
  return structure.window.blocks == 1 && (width == features || width == features / 2 ||
                                          width == features / 4 || width == features / 4 * 3);
}

}  // namespace

FoundStructure structure_of(const Sample& sample, const std::optional<HeadWindow>& expected) {
  std::vector<FoundStructure> found;
  for (const HeadWindow& window : candidate_windows(sample, expected))
    found.push_back(structure_with(sample, window));
  if (found.empty()) {  // no window covers the last of an odd number of features
    const auto whole = static_cast<std::int64_t>(sample.features) / 2 * 2;
    found.push_back(structure_with(
        sample, {static_cast<std::int64_t>(sample.features), whole, 0, Pairing::half, 1}));
  }
  double least = found.front().deviation;
  for (const FoundStructure& each : found) least = smaller(least, each.deviation);
  const double alike = larger(1.5 * least, rounding_noise(sample.dtype));
  const auto rank = [&](const FoundStructure& each) {
    if (each.deviation > alike) return 2.0 + each.deviation;
    if (expected && each.window == *expected) return 0.0;
    return is_preferred(each, sample) ? 0.5 : 1.0;
  };
  sort_by(found, rank);
  const auto [first, end] = changed_features(sample);
  if (first >= end) found.front().rotated = false;
  return found.front();
}

std::vector<double> measured_turns(const Sample& sample, const HeadWindow& window) {
  std::vector<double> turns;
  for (const PairFeatures& at : pair_features(window)) {
    Complex sum = 0;
    bool any = false;
    for (std::size_t t = 0; t + 1 < sample.tokens; ++t) {
      if (!are_neighbours(sample, t)) continue;
      sum += turned(sample, at, t + 1) * std::conj(turned(sample, at, t));
      any = true;
    }
    if (!any) return {};
    turns.push_back(std::arg(sum));
  }
  return turns;
}

double smallest_turn(const Sample& sample) noexcept { return 20 * rounding_noise(sample.dtype); }

std::optional<double> base_of_turns(const std::vector<double>& turns, double smallest) {
  double moments[2] = {};
  std::size_t pairs = 0;
  for (std::size_t i = 1; i < turns.size(); ++i) {
    const double turn = std::abs(turns[i]);
    if (turn < larger(smallest, fast_turn)) break;
    const double place = static_cast<double>(i) / static_cast<double>(turns.size());
    moments[0] += turn * place * -std::log(turn);
    moments[1] += turn * place * place;
    ++pairs;
  }
  if (pairs < 2) return std::nullopt;
  const double log_base = moments[0] / moments[1];
  return log_base > 0.1 && log_base < 60 ? std::optional(std::exp(log_base)) : std::nullopt;
}

double with_few_digits(double number, double relative) noexcept {
  if (number == 0 || !std::isfinite(number)) return number;
  const double magnitude = std::floor(std::log10(std::abs(number)));
  for (int digits = 1; digits <= 12; ++digits) {
    const double unit = std::pow(10.0, magnitude + 1 - digits);
    const double rounded = unit >= 1 ? std::round(number / unit) * unit
                                     : std::round(number / unit) / std::round(1 / unit);
    if (std::abs(rounded - number) <= relative * std::abs(number)) return rounded;
  }
  return number;
}

}  // namespace rotary::identification
