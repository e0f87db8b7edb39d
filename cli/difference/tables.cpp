// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>

#include "apps/failure.hpp"
#include "cli/difference/dump.hpp"
#include "cli/vectors.hpp"

namespace rotary::cli {
namespace {

using Complex = std::complex<double>;

Complex at(const RowsTable& table, std::int64_t position, std::size_t pair) {
  const std::size_t i =
      static_cast<std::size_t>(position) * static_cast<std::size_t>(table.pairs) + pair;
  return {table.cos[i], table.sin[i]};
}

// Compares two tables row by row. Angles are relative to the first row.
class TableComparison {
 public:
  TableComparison(const RowsTable& one, const RowsTable& other)
      : one_(one), other_(other), differs_(static_cast<std::size_t>(one.pairs)) {}

  RowsDifference compare() {
    const std::int64_t tokens = std::min<std::int64_t>(one_.tokens, other_.tokens);
    for (std::int64_t p = 0; p < tokens; ++p) add_row(p);
    for (std::int64_t p = 1; p < tokens - 1; p *= 2) add_correlation(p);
    if (tokens > 1) add_correlation(tokens - 1);
    for (std::size_t i = 0; i < differs_.size(); ++i)
      if (differs_[i]) found_.pairs.push_back(static_cast<std::int64_t>(i));
    return found_;
  }

 private:
  void add_row(std::int64_t position) {
    double farthest = 0;
    for (std::size_t i = 0; i < differs_.size(); ++i) {
      const Complex mine = at(one_, position, i);
      const Complex theirs = at(other_, position, i);
      const double distance =
          larger(std::abs(mine.real() - theirs.real()), std::abs(mine.imag() - theirs.imag()));
      farthest = larger(farthest, distance);
      if (distance > row_tolerance) differs_[i] = true;
      const Complex score = mine * std::conj(at(one_, 0, i));
      const Complex other_score = theirs * std::conj(at(other_, 0, i));
      const double change = std::abs(score - other_score);
      found_.largest_score_change = larger(*found_.largest_score_change, change);
      const double angle = std::abs(std::arg(score * std::conj(other_score)));
      if (angle <= found_.largest_angle_error) continue;
      found_.largest_angle_error = angle;
      found_.largest_angle_pair = static_cast<std::int64_t>(i);
    }
    if (found_.first_position || !(farthest > row_tolerance)) return;
    found_.first_position = position;
    found_.at_first = farthest;
  }

  void add_correlation(std::int64_t distance) {
    double sum = 0;
    for (std::size_t i = 0; i < differs_.size(); ++i) {
      const Complex product = at(one_, distance, i) * std::conj(at(other_, distance, i));
      const double size = std::abs(product);
      sum += size > 0 ? product.real() / size : 0;
    }
    const double correlation = sum / static_cast<double>(differs_.size());
    if (correlation >= found_.least_correlation) return;
    found_.least_correlation = correlation;
    found_.least_correlation_distance = distance;
  }

  const RowsTable& one_;
  const RowsTable& other_;
  std::vector<bool> differs_;
  RowsDifference found_;
};

}  // namespace

RowsTable rows_of(const Frequencies& frequencies, std::int64_t tokens) {
  RowsTable table{.tokens = tokens, .pairs = std::ssize(frequencies.turns)};
  for (std::int64_t p = 0; p < tokens; ++p) {
    for (const std::uint64_t turns : frequencies.turns) {
      const auto phase = static_cast<std::int64_t>(turns * static_cast<std::uint64_t>(p));
      const double angle = static_cast<double>(phase) * (2 * std::numbers::pi * 0x1p-64);
      table.cos.push_back(frequencies.attention_factor * std::cos(angle));
      table.sin.push_back(frequencies.attention_factor * std::sin(angle));
    }
  }
  return table;
}

RowsDifference compare_tables(const RowsTable& one, const RowsTable& other) {
  require(one.pairs == other.pairs, "both sides must have as many pairs, got {} and {}", one.pairs,
          other.pairs);
  return TableComparison(one, other).compare();
}

}  // namespace rotary::cli
