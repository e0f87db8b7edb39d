// SPDX-License-Identifier: Apache-2.0
// Finds positions from angles. A pair of frequency ω and angle φ is at position (φ + 2π k) / ω for
// some whole k. The slowest pair gives few candidates, and each faster pair leaves fewer.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "identify/operation.hpp"
#include "identify/sample.hpp"

namespace rotary::identification {

// The position found for one token.
struct TokenReading {
  std::vector<double> found;  // [axes of the operation]; whole numbers if they fit
  double residual = 0;        // |predicted - seen| / |seen| at this position
  double seen = 0;            // |seen|
  double tolerance = 0;       // the residual that rounding explains
  // The nearest other position that explains the token as well, on the first axis that has one.
  std::optional<double> alias = {};

  [[nodiscard]] bool is_exact() const noexcept { return residual <= tolerance; }
};

// True if every pair's angle depends only on its token, so that positions can be found.
[[nodiscard]] bool is_readable(const Operation& operation) noexcept;

class PositionReader {
 public:
  // turning: from an operation that is_readable().
  explicit PositionReader(const Turning& turning);

  [[nodiscard]] std::size_t axes() const noexcept { return pairs_of_axis_.size(); }

  // Finds a token's position. Takes the first likely position that fits, else computes one. Of
  // positions that fit equally well, takes the nearest to the last likely one. Read tokens in
  // order.
  [[nodiscard]] TokenReading read(const Sample& sample, std::size_t token);

 private:
  struct Pair {
    double angle = 0;
    double length = 0;  // |before| |after|, summed over heads
    double frequency = 0;
  };

  [[nodiscard]] std::vector<std::vector<double>> likely(const std::vector<double>& expected) const;
  [[nodiscard]] TokenReading read_near(const Sample& sample,
                                       const std::vector<std::vector<double>>& hints);
  void measure(const Sample& sample, std::size_t token);
  [[nodiscard]] TokenReading reading_at(const Sample& sample, const std::vector<double>& at) const;
  [[nodiscard]] std::optional<TokenReading> accepted(const Sample& sample,
                                                     const std::vector<double>& hint);
  [[nodiscard]] std::vector<std::size_t> measured_pairs(std::size_t axis) const;
  [[nodiscard]] double misfit(std::size_t axis, double position) const;
  [[nodiscard]] std::optional<double> refined(const std::vector<std::size_t>& pairs,
                                              double position) const;
  [[nodiscard]] std::optional<double> neighbour(std::size_t axis, double position) const;
  [[nodiscard]] bool is_best_nearby(std::size_t axis, double position) const;
  // The positions that fit the pairs of an axis; the nearest to the hint is first.
  [[nodiscard]] std::vector<double> solved(std::size_t axis, double hint) const;
  [[nodiscard]] double tolerance_at(const Sample& sample, const std::vector<double>& found) const;
  [[nodiscard]] double slack_at(const Sample& sample, const std::vector<double>& found) const;
  [[nodiscard]] double residual(double misfits) const;

  const Turning& turning_;
  std::vector<std::vector<std::size_t>>
      pairs_of_axis_;             // the slowest first, without pairs of frequency 0
  std::vector<Pair> pairs_;       // of the token
  double fixed_ = 0;              // squared error that no position can reduce
  double after_ = 0;              // the sum of the squares of sample.after
  double slack_ = 0;              // misfits that differ by less count as equal
  std::vector<double> found_;     // the position of the last token whose position fits
  std::vector<double> expected_;  // its position as stated
};

}  // namespace rotary::identification
