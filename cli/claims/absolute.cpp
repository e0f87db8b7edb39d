// SPDX-License-Identifier: Apache-2.0
// Claims 1, 2 and 20: learned and sinusoidal tables.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/sinusoidal.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::int64_t table_rows = 512;
constexpr std::int64_t table_features = 512;

// Rows of the paper's sinusoidal encoding.
std::vector<double> sinusoidal_rows(const Positions& positions, std::int64_t tokens) {
  const Sinusoidal sinusoidal =
      value_or_fail(make_sinusoidal(transformer_sinusoidal(table_features)));
  std::vector<double> rows(static_cast<std::size_t>(tokens * table_features));
  const TokenExtents extents{.tokens = tokens, .features = table_features};
  ok_or_fail(fill_sinusoidal({.data = rows.data(),
                              .dtype = DType::f64,
                              .extents = extents,
                              .strides = strides_btd(extents)},
                             sinusoidal, positions));
  return rows;
}

std::vector<double> sinusoidal_table() {
  return sinusoidal_rows(ConsecutivePositions{.first = 0, .tokens = table_rows}, table_rows);
}

// As models initialise it: normal. Its deviation, often 0.02, changes no cosine.
std::vector<double> untrained_table(std::uint64_t seed) {
  return Random(seed).normals(table_rows * table_features);
}

std::span<const double> row_of(const std::vector<double>& table, std::int64_t row) {
  return std::span(table).subspan(static_cast<std::size_t>(row * table_features),
                                  static_cast<std::size_t>(table_features));
}

// Mean cosine of the angle between rows that stand so far apart.
double mean_cosine(const std::vector<double>& table, std::int64_t distance) {
  double sum = 0;
  for (std::int64_t row = 0; row + distance < table_rows; ++row) {
    const auto one = row_of(table, row);
    const auto other = row_of(table, row + distance);
    sum += dot(one, other) / std::sqrt(dot(one, one) * dot(other, other));
  }
  return sum / static_cast<double>(table_rows - distance);
}

std::vector<Evidence> learned_like_sinusoidal() {
  const double learned = mean_cosine(untrained_table(1), 1);
  const double sinusoidal = mean_cosine(sinusoidal_table(), 1);
  return {{.computed = "mean cosine between the rows of adjacent positions, 512 x 512: a table of "
                       "normal numbers (seed 1), as training begins with, and the sinusoidal one",
           .relation = "what the two have in common is not there before training",
           .setting = Setting::aside,
           .holds = sinusoidal - learned > 0.9,
           .numbers = {{"learned, untrained", learned, about(0, 0.01)},
                       {"sinusoidal", sinusoidal, about(249.1 / 256, 0.0005)}}}};
}

std::vector<Evidence> independent_positions() {
  constexpr double independent = 0.05;  // |cosine|; the mean of 511 of 512 features is 0 +- 0.002
  const double learned = mean_cosine(untrained_table(2), 1);
  const std::vector<double> table = sinusoidal_table();
  const double sinusoidal = mean_cosine(table, 1);
  const auto product = [&table](std::int64_t row) {
    return dot(row_of(table, 0), row_of(table, row));
  };
  return {{.computed = "rows of a learned table as training begins: normal, 512 x 512, seed 2",
           .relation = "adjacent rows have a mean cosine of at most 0.05",
           .setting = Setting::met,
           .holds = std::abs(learned) <= independent,
           .numbers = {{"mean cosine of adjacent rows", learned, about(0, 0.01)},
                       {"mean cosine 100 apart", mean_cosine(untrained_table(2), 100),
                        about(0, 0.01)}}},
          {.computed = "rows of the sinusoidal table, 512 features: products with row 0",
           .relation = "adjacent rows have a mean cosine of at most 0.05",
           .setting = Setting::unmet,
           .holds = std::abs(sinusoidal) <= independent,
           .numbers = {{"mean cosine of adjacent rows", sinusoidal, about(249.1 / 256, 0.0005)},
                       {"row 0 with itself", product(0), about(256, 1e-9)},
                       {"with row 1", product(1), about(249.1, 0.05)},
                       {"with row 10", product(10), about(173.8, 0.05)},
                       {"with row 100", product(100), about(112.0, 0.05)},
                       {"with row 499", product(499), about(66.4, 0.05)}}}};
}

// Means over all rows of every second feature: 0 the sines, 1 the cosines.
double mean_of_every_second(const std::vector<double>& rows, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < rows.size(); i += 2) sum += rows[i];
  return 2 * sum / static_cast<double>(rows.size());
}

std::vector<Evidence> centred() {
  constexpr double centred_within = 0.01;
  const std::vector<double> table = sinusoidal_table();
  double last_cosine = 0;
  for (std::int64_t row = 0; row < table_rows; ++row)
    last_cosine += row_of(table, row).back() / static_cast<double>(table_rows);
  const auto [least, most] = std::ranges::minmax(table);

  // A prime stride, so that no pair comes to stand where it stood.
  constexpr std::int64_t many = 2048;
  constexpr std::int64_t stride = 19997;
  std::vector<std::int64_t> far(static_cast<std::size_t>(many));
  for (std::size_t i = 0; i < far.size(); ++i) far[i] = static_cast<std::int64_t>(i) * stride;
  const double far_mean = mean(sinusoidal_rows(positions_of(far), many));
  return {
      {.computed = "positions 0 to 511 of the sinusoidal table, 512 features",
       .relation = "the mean of all elements is within 0.01 of 0",
       .setting = Setting::unmet,
       .holds = std::abs(mean(table)) <= centred_within,
       .numbers = {{"mean", mean(table), about(0.267, 0.0005)},
                   {"mean of the sines", mean_of_every_second(table, 0), about(0.167, 0.001)},
                   {"mean of the cosines", mean_of_every_second(table, 1), about(0.367, 0.0005)},
                   {"mean of the last cosine", last_cosine, about(0.9995, 0.0001)},
                   {"least element", least, {-1, -0.99}},
                   {"largest element", most, {0.99, 1}}}},
      {.computed = "2048 positions from 0 to 40,933,859, evenly spaced: 670 times the longest "
                   "wavelength",
       .relation = "the mean of all elements is within 0.01 of 0",
       .setting = Setting::met,
       .holds = std::abs(far_mean) <= centred_within,
       .numbers = {{"mean of these", far_mean, about(0, centred_within)}}}};
}

}  // namespace

std::vector<Claim> absolute_claims() {
  return {
      {.number = 1,
       .name = "learned-like-sinusoidal",
       .statement = "a learned position table and the sinusoidal one do equally well",
       .verdict = Verdict::needs_training,
       .condition = "rotary-lab trains both; what was published agrees up to the trained length, "
                    "and beyond it a learned table has no rows",
       .examine = learned_like_sinusoidal,
       .published = {{"English-German translation: BLEU 25.7 learned, 25.8 sinusoidal",
                      "Vaswani et al. 2017, arXiv 1706.03762, table 3, row E"},
                     {"perplexity on the Pile: 22.04 learned and 21.49 sinusoidal of 125 million "
                      "parameters, 13.05 and 12.93 of 1.3 billion",
                      "Haviv et al. 2022, arXiv 2203.16634"}},
       .experiments = {"e1-causal-lm", "e2-masked-lm"}},
      {.number = 2,
       .name = "independent-positions",
       .statement = "positions of an absolute table have nothing to do with one another",
       .verdict = Verdict::holds_only_if,
       .condition = "the table is learned and training has not begun; sinusoidal rows of near "
                    "positions are nearly equal",
       .examine = independent_positions},
      {.number = 20,
       .name = "centred",
       .statement = "sinusoidal encodings are centred at 0",
       .verdict = Verdict::holds_only_if,
       .condition = "positions go on for many times the longest wavelength, 60,611 tokens of 512 "
                    "features; within a model's reach the cosines have not turned yet",
       .examine = centred},
  };
}

}  // namespace rotary::cli::claims
