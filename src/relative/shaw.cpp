// SPDX-License-Identifier: Apache-2.0
// For each query the rows of the window that its keys fall into are met once: by its products with
// them (scores), or by the sum of the weights that fall into each (values, gradient).
#include "rotary/shaw.hpp"

#include <algorithm>
#include <vector>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/pair_positions.hpp"

namespace rotary {
namespace relative {
namespace {

// The rows of the table that a block reaches, read once: [rows][features].
struct ReachedRows {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t features = 0;
  std::vector<double> values = {};

  [[nodiscard]] std::span<const double> row(std::int64_t index) const {
    return std::span(values).subspan(to_size((index - first) * features), to_size(features));
  }
};

std::int64_t row_of(const ShawWindow& window, const PairOfPositions& pair) noexcept {
  return std::clamp(pair.relative(), -window.left, window.right) + window.left;
}

// None of an empty block. The lowest distance is that of the last query and the first key.
ReachedRows reached(const ShawWindow& window, const ScoresExtents& n,
                    const PairPositions& positions) {
  if (is_empty(n)) return {};
  const std::int64_t first = row_of(window, positions.at(n.queries - 1, 0));
  const std::int64_t last = row_of(window, positions.at(0, n.keys - 1));
  return {.first = first, .count = last - first + 1};
}

void read(ReachedRows& rows, const ConstMatrixView& table) {
  rows.features = table.columns;
  rows.values.resize(to_size(rows.count * rows.features));
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const auto row =
        std::span(rows.values).subspan(to_size(i * rows.features), to_size(rows.features));
    load_row(row, table, rows.first + i);
  }
}

double dot(std::span<const double> a, std::span<const double> b) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Status check_window(const ShawWindow& window) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (window.left >= 0 && window.left <= most && window.right >= 0 && window.right <= most)
    return {};
  return invalid_argument("left and right must be from 0 to 2^40, got ", window.left, " and ",
                          window.right);
}

Status check_table(const ShawTable& table, std::int64_t features) {
  if (auto status = check_window(table.window); !status) return status;
  if (table.table.rows != table.window.rows() || table.table.columns != features) {
    return invalid_argument("the table must have left + right + 1 = ", table.window.rows(),
                            " rows of ", features, " features, got rows ", table.table.rows,
                            ", columns ", table.table.columns);
  }
  return check_memory(named("table", table.table));
}

// What all three have: rows of scores and of heads, and where they stand.
struct Block {
  ConstScoresView scores;
  ConstHeadsView heads;
  ShawWindow window;
  PairPositions positions;
};

// visit(at) for every query of every head, in order.
template <class Visit>
void for_each_row(const ScoresExtents& n, Visit visit) {
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t row = 0; row < n.queries; ++row) {
      for (std::int64_t head = 0; head < n.heads; ++head)
        visit(ScoreIndex{.batch = batch, .head = head, .query = row});
    }
  }
}

// sums[row - first] = Σ of the scores that fall into each row of the window.
void sum_by_row(std::span<double> sums, const ReachedRows& rows, const Block& block,
                ScoreIndex at) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (at.key = 0; at.key < block.scores.extents.keys; ++at.key) {
    const std::int64_t row = row_of(block.window, block.positions.at(at.query, at.key));
    sums[to_size(row - rows.first)] += load(block.scores, at);
  }
}

void add_scores(const ScoresView& scores, const Block& block, const ReachedRows& rows) {
  std::vector<double> query(to_size(rows.features));
  std::vector<double> products(to_size(rows.count));
  for_each_row(scores.extents, [&](ScoreIndex at) {
    load_features(query, block.heads, at);
    const std::int64_t first = row_of(block.window, block.positions.at(at.query, 0));
    const std::int64_t last =
        row_of(block.window, block.positions.at(at.query, scores.extents.keys - 1));
    for (std::int64_t row = first; row <= last; ++row)
      products[to_size(row - rows.first)] = dot(query, rows.row(row));
    for (at.key = 0; at.key < scores.extents.keys; ++at.key) {
      const std::int64_t row = row_of(block.window, block.positions.at(at.query, at.key));
      add(scores, at, products[to_size(row - rows.first)]);
    }
  });
}

void add_values(const HeadsView& out, const Block& block, const ReachedRows& rows) {
  std::vector<double> sums(to_size(rows.count));
  std::vector<double> features(to_size(rows.features));
  for_each_row(block.scores.extents, [&](const ScoreIndex& at) {
    sum_by_row(sums, rows, block, at);
    std::fill(features.begin(), features.end(), 0.0);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const double weight = sums[to_size(i)];
      const auto row = rows.row(rows.first + i);
      for (std::size_t f = 0; f < features.size(); ++f) features[f] += weight * row[f];
    }
    add_features(out, at, features);
  });
}

void add_table_gradient(std::span<double> table, const Block& block, const ReachedRows& rows) {
  const auto width = to_size(block.heads.extents.features);
  std::vector<double> sums(to_size(rows.count));
  std::vector<double> features(width);
  for_each_row(block.scores.extents, [&](const ScoreIndex& at) {
    sum_by_row(sums, rows, block, at);
    load_features(features, block.heads, at);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const double weight = sums[to_size(i)];
      const auto row = table.subspan(to_size(rows.first + i) * width, width);
      for (std::size_t f = 0; f < width; ++f) row[f] += weight * features[f];
    }
  });
}

}  // namespace
}  // namespace relative

using relative::named;

Status shaw_scores(const ScoresView& scores, const ConstHeadsView& q, const ShawTable& keys,
                   const BiasRange& range) {
  return guarded([&]() -> Status {
    if (auto status = check_apart(named("scores", scores), named("q", q)); !status) return status;
    if (auto status = relative::check_same_rows("q", scores, q); !status) return status;
    if (auto status = relative::check_table(keys, q.extents.features); !status) return status;
    if (auto status = check_apart(named("scores", scores), named("table", keys.table)); !status)
      return status;
    const auto positions = relative::PairPositions::of(scores.extents, range);
    if (!positions) return positions.error();
    auto rows = relative::reached(keys.window, scores.extents, *positions);
    if (rows.count == 0) return {};
    relative::read(rows, keys.table);
    relative::add_scores(scores, {scores, q, keys.window, *positions}, rows);
    return {};
  });
}

Status shaw_values(const HeadsView& out, const ConstScoresView& weights, const ShawTable& values,
                   const BiasRange& range) {
  return guarded([&]() -> Status {
    if (auto status = check_apart(named("out", out), named("weights", weights)); !status)
      return status;
    if (auto status = relative::check_same_rows("out", weights, out); !status) return status;
    if (auto status = relative::check_table(values, out.extents.features); !status) return status;
    if (auto status = check_apart(named("out", out), named("table", values.table)); !status)
      return status;
    const auto positions = relative::PairPositions::of(weights.extents, range);
    if (!positions) return positions.error();
    auto rows = relative::reached(values.window, weights.extents, *positions);
    if (rows.count == 0) return {};
    relative::read(rows, values.table);
    relative::add_values(out, {weights, out, values.window, *positions}, rows);
    return {};
  });
}

Status add_shaw_gradient(const ShawGradient& gradient, const ConstScoresView& scores,
                         const ConstHeadsView& vectors, const BiasRange& range) {
  return guarded([&]() -> Status {
    if (auto status = relative::check_window(gradient.window); !status) return status;
    for (const auto& source : {named("scores", scores), named("vectors", vectors)}) {
      const auto table = named("gradient.table", gradient.table);
      if (auto status = check_apart(table, source); !status) return status;
    }
    if (auto status = relative::check_same_rows("vectors", scores, vectors); !status) return status;
    const std::int64_t features = vectors.extents.features;
    std::int64_t wanted = 0;
    if (__builtin_mul_overflow(gradient.window.rows(), features, &wanted) ||
        gradient.table.size() != relative::to_size(wanted)) {
      return invalid_argument(
          "gradient.table must have left + right + 1 = ", gradient.window.rows(), " rows of ",
          features, " features, got ", gradient.table.size(), " numbers");
    }
    const auto positions = relative::PairPositions::of(scores.extents, range);
    if (!positions) return positions.error();
    const auto rows = relative::reached(gradient.window, scores.extents, *positions);
    if (rows.count == 0) return {};
    relative::add_table_gradient(gradient.table, {scores, vectors, gradient.window, *positions},
                                 rows);
    return {};
  });
}

}  // namespace rotary
