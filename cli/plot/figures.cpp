// SPDX-License-Identifier: Apache-2.0
#include "cli/plot/figures.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "apps/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/vectors.hpp"
#include "rotary/absolute.hpp"

namespace rotary::cli::plot {
namespace {

// The largest --last of figures that compute only a sample of positions.
constexpr std::int64_t far = 100'000'000;
constexpr std::int64_t most_rows = 4095;    // in a heat map
constexpr std::int64_t most_tokens = 511;   // on each axis of a heat map
constexpr std::int64_t most_patches = 127;  // on a side of a grid
constexpr std::int64_t most_distance = 10'000;
constexpr std::int64_t most_context = 262'144;  // every distance is computed, which takes seconds

constexpr std::array makers = {
    FigureMaker{"rotation", "a pair of features turned by its position, of a fast and a slow pair",
                Subjects::one, Uses::nothing, 0, rotation},
    FigureMaker{"corkscrew", "the same in space, position upwards: a fast pair and slower ones",
                Subjects::one, Uses::nothing, far, corkscrew},
    FigureMaker{"fast_slow", "a fast pair and one feature of a slow pair in space", Subjects::one,
                Uses::nothing, far, fast_slow},
    FigureMaker{"axes", "which coordinate turns each pair, and the scores of a patch in a grid",
                Subjects::one, Uses::nothing, most_patches, axes},
    FigureMaker{"wavelengths", "how many tokens a turn of each pair takes, against the context",
                Subjects::several, Uses::context, 0, wavelengths},
    FigureMaker{"scaling", "how each scaling rule slows each pair down, and its ramp",
                Subjects::several, Uses::nothing, 0, scaling},
    FigureMaker{"tables", "heat maps: sinusoidal, learned, and the cos and sin of rotary embedding",
                Subjects::one, Uses::dim | Uses::seed | Uses::learned, most_rows, tables},
    FigureMaker{"shaw", "which learned vector each distance takes: Shaw's clip window",
                Subjects::none, Uses::dim, most_tokens, shaw},
    FigureMaker{"t5", "which bucket each distance falls into", Subjects::none, Uses::nothing,
                most_distance, t5},
    FigureMaker{"alibi", "what ALiBi adds to scores, in each head", Subjects::none, Uses::dim,
                most_distance, alibi},
    FigureMaker{"sinusoidal", "waves of a sinusoidal encoding, and how alike positions are",
                Subjects::none, Uses::dim, most_distance, sinusoidal},
    FigureMaker{"decay", "the bound of RoFormer 3.4.3 on scores, against distance",
                Subjects::several, Uses::nothing, far, decay},
    FigureMaker{"similarity", "scores against distance: q = k, random and adversarial q and k",
                Subjects::one, Uses::dim | Uses::seed, far, similarity},
    FigureMaker{"reach", "scores of a fast, a middle and a slow pair alone, against distance",
                Subjects::one, Uses::nothing, far, reach},
    FigureMaker{"clipped",
                "angles clipped at half a turn: what becomes monotone, and what does not",
                Subjects::one, Uses::seed, far, clipped},
    FigureMaker{"base", "which base a context asks for, by the sum of cosines", Subjects::several,
                Uses::dim, most_context, base},
    FigureMaker{"numerics", "error of cos and sin against position, for each numerics",
                Subjects::one, Uses::nothing, far, numerics},
    FigureMaker{"attention", "attention of your own words under each encoding", Subjects::one,
                Uses::words | Uses::seed, 0, attention},
};

}  // namespace

std::span<const FigureMaker> figure_makers() noexcept { return makers; }

Subject usual_subject() { return plain_subject(128, 10000); }

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

void for_each_turned(const Frequencies& frequencies, std::span<const std::int64_t> at,
                     const std::function<void(const TurnedRow& row)>& use) {
  constexpr std::size_t numbers_at_once = std::size_t{1} << 16;
  const std::size_t rows = std::max(std::size_t{1}, numbers_at_once / frequencies.inv_freq.size());
  const Frequencies exact =  // made once, because make_frequencies() is slow
      value_or_fail(make_frequencies(frequencies.window, frequencies.inv_freq, 1));
  for (std::size_t first = 0; first < at.size(); first += rows) {
    const auto part = at.subspan(first, std::min(rows, at.size() - first));
    const Rotations some =
        value_or_fail(make_rotations(exact, positions_of(part), {.rows = RowDType::f64}));
    for (std::int64_t row = 0; row < some.tokens(); ++row)
      use({.cos = some.cos<double>(0, row), .sin = some.sin<double>(0, row)});
  }
}

std::vector<double> of_turned(const Frequencies& frequencies, std::span<const std::int64_t> at,
                              const std::function<double(const TurnedRow& row)>& number_of) {
  std::vector<double> numbers;
  for_each_turned(frequencies, at,
                  [&](const TurnedRow& row) { numbers.push_back(number_of(row)); });
  return numbers;
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

std::vector<double> counted(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

std::vector<double> as_doubles(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<double> aligned_similarity(const Frequencies& frequencies,
                                       std::span<const std::int64_t> distances) {
  return of_turned(frequencies, distances, [](const TurnedRow& row) { return mean(row.cos); });
}

std::vector<double> sinusoidal_rows(std::span<const std::int64_t> positions,
                                    std::int64_t features) {
  std::vector<double> rows(positions.size() * static_cast<std::size_t>(features));
  const TokenExtents extents{.tokens = std::ssize(positions), .features = features};
  const TokensView view{rows.data(), DType::f64, extents, strides_btd(extents)};
  ok_or_fail(fill_sinusoidal(view, value_or_fail(make_sinusoidal(transformer_sinusoidal(features))),
                             positions_of(positions)));
  return rows;
}

std::vector<double> normal_numbers(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  // Never 0, because the logarithm below must be finite.
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
