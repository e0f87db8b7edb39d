// SPDX-License-Identifier: Apache-2.0
#include "cli/plot/turning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "cli/failure.hpp"

namespace rotary::cli::plot {
namespace {

// Their mathematics alone: exact numerics, no attention factor.
Frequencies without_recipe(const Frequencies& frequencies) {
  return value_or_fail(make_frequencies(frequencies.window, frequencies.inv_freq, 1));
}

Rotations exact_rows(const Frequencies& frequencies, std::span<const std::int64_t> at) {
  return value_or_fail(make_rotations(frequencies, positions_of(at), {.rows = RowDType::f64}));
}

}  // namespace

std::vector<Subject> subjects_of(const Request& request) {
  if (!request.subjects.empty()) return request.subjects;
  return {usual_subject()};
}

Subject subject_of(const Request& request) { return subjects_of(request).front(); }

Subject plain_subject(std::int64_t dim, double base) {
  const RotarySpec spec{.head_dim = dim, .base = base, .pairing = Pairing::half};
  return {.name = fmt::format("RoPE, {}", numbers_text(spec)),
          .spec = spec,
          .frequencies = value_or_fail(make_frequencies(spec))};
}

std::string numbers_text(const RotarySpec& spec) {
  return fmt::format("d = {}, base {}", spec.rotary_dim.value_or(spec.head_dim), spec.base.get());
}

Rotations turned(const Frequencies& frequencies, std::span<const std::int64_t> at) {
  return exact_rows(without_recipe(frequencies), at);
}

void for_each_turned(const Frequencies& frequencies, std::span<const std::int64_t> at,
                     const std::function<void(const TurnedRow& row)>& use) {
  constexpr std::size_t numbers_at_once = std::size_t{1} << 16;
  const Frequencies plain = without_recipe(frequencies);
  const std::size_t rows = std::max(std::size_t{1}, numbers_at_once / frequencies.inv_freq.size());
  for (std::size_t first = 0; first < at.size(); first += rows) {
    const Rotations some = exact_rows(plain, at.subspan(first, std::min(rows, at.size() - first)));
    for (std::int64_t row = 0; row < some.tokens(); ++row)
      use({.cos = some.cos<double>(0, row), .sin = some.sin<double>(0, row)});
  }
}

Integers evenly(std::int64_t last, std::int64_t most) {
  const std::int64_t step = std::max<std::int64_t>(1, (last + most - 1) / most);
  Integers at;
  for (std::int64_t position = 0; position <= last; position += step) at.push_back(position);
  return at;
}

Integers by_decades(std::int64_t last, std::int64_t in_a_decade) {
  Integers at;
  const double step = 1 / static_cast<double>(in_a_decade);
  for (double exponent = 0; at.empty() || at.back() < last; exponent += step) {
    const auto next = static_cast<std::int64_t>(std::llround(std::pow(10, exponent)));
    if (at.empty() || next > at.back()) at.push_back(std::min(next, last));
  }
  return at;
}

std::vector<double> as_doubles(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<double> aligned_similarity(const Frequencies& frequencies,
                                       std::span<const std::int64_t> distances) {
  std::vector<double> similarity;
  for_each_turned(frequencies, distances, [&](const TurnedRow& row) {
    double sum = 0;
    for (const double cos : row.cos) sum += cos;
    similarity.push_back(sum / static_cast<double>(row.cos.size()));
  });
  return similarity;
}

std::vector<double> normal_numbers(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  // In (0, 1): the logarithm below must be finite.
  const auto uniform = [&] { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> numbers;
  while (numbers.size() < count) {  // Box and Muller 1958
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    numbers.push_back(radius * std::cos(angle));
    numbers.push_back(radius * std::sin(angle));
  }
  numbers.resize(count);
  return numbers;
}

}  // namespace rotary::cli::plot
