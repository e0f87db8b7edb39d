// SPDX-License-Identifier: Apache-2.0
// The functions that make figures, by file, and functions that they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plot/figures.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli::plot {

// rotation.cpp
Make rotation, corkscrew, fast_slow, wavelengths, scaling, numerics;
// windows.cpp
Make shaw, t5, alibi, sinusoidal;
// scores.cpp
Make decay, similarity, reach, clipped, base;
// maps.cpp
Make tables, attention;
// axes.cpp
Make axes;

using Integers = std::vector<std::int64_t>;

// The subject if no CONFIG is given: d = 128 and base 10000.
[[nodiscard]] Subject usual_subject();

// The given subjects, or the usual one.
[[nodiscard]] std::vector<Subject> subjects_of(const Request& request);

[[nodiscard]] Subject subject_of(const Request& request);

// RoPE without scaling.
[[nodiscard]] Subject plain_subject(std::int64_t dim, double base);

// "d = 128, base 10000"
[[nodiscard]] std::string numbers_text(const RotarySpec& spec);

// The cos and sin of each pair at a position.
struct TurnedRow {
  std::span<const double> cos, sin;
};

// Calls use() for each position of `at`, in order. Rows are double, exact for any numerics, and
// lack the attention factor. of_turned() makes a number from each row.
void for_each_turned(const Frequencies& frequencies, std::span<const std::int64_t> at,
                     const std::function<void(const TurnedRow& row)>& use);
[[nodiscard]] std::vector<double> of_turned(
    const Frequencies& frequencies, std::span<const std::int64_t> at,
    const std::function<double(const TurnedRow& row)>& number_of);

// At most `most` + 1 evenly spaced numbers: 0 first, none above `last`.
[[nodiscard]] Integers evenly(std::int64_t last, std::int64_t most);

// Numbers from 1 to last, at most `in_a_decade` of them in a decade.
[[nodiscard]] Integers by_decades(std::int64_t last, std::int64_t in_a_decade);

constexpr double nothing_there = std::numeric_limits<double>::quiet_NaN();

template <class Range, class Function>
[[nodiscard]] std::vector<double> numbers_of(const Range& elements, Function f) {
  std::vector<double> numbers(std::size(elements));
  std::ranges::transform(elements, numbers.begin(), f);
  return numbers;
}

// The numbers 0 to count - 1.
[[nodiscard]] std::vector<double> counted(std::size_t count);

[[nodiscard]] std::vector<double> as_doubles(std::span<const std::int64_t> numbers);

// The mean of cos(distance ω) over pairs: q·k / (|q||k|) for k = q with equally long pairs.
[[nodiscard]] std::vector<double> aligned_similarity(const Frequencies& frequencies,
                                                     std::span<const std::int64_t> distances);

// The rows [positions, features] of the transformer's sinusoidal encoding.
[[nodiscard]] std::vector<double> sinusoidal_rows(std::span<const std::int64_t> positions,
                                                  std::int64_t features);

// B(r) of RoFormer's figure 2: the mean over j of |S_j|, with S_j = Σ_{i<j} e^(i r ω_i).
[[nodiscard]] double decay_bound(const TurnedRow& row);

// Independent draws from N(0, 1), the same on every machine up to the last bits of log and cos.
[[nodiscard]] std::vector<double> normal_numbers(std::uint64_t seed, std::size_t count);

// Normal numbers from a hash of the word and the seed, scaled to the length √features.
[[nodiscard]] std::vector<double> word_vector(std::string_view word, std::int64_t features,
                                              std::uint64_t seed);

}  // namespace rotary::cli::plot
