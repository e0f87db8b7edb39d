// SPDX-License-Identifier: Apache-2.0
// For each query, visits each table row of its keys once. Scores multiply the row with the
// query. Values and gradients first sum the weights of the keys that use the row.
#include "rotary/shaw.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/pair_positions.hpp"

namespace rotary {
namespace relative {
namespace {

// The rows of the table that a block uses, read once: [rows][features].
struct ReachedRows {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t features = 0;
  std::vector<double> values = {};

  [[nodiscard]] std::span<const double> row(std::int64_t index) const {
    return std::span(values).subspan(to_size((index - first) * features), to_size(features));
  }
};

std::int64_t row_of(const ShawWindow& window, std::int64_t relative_position) noexcept {
  return std::clamp(relative_position, -window.left, window.right) + window.left;
}

std::int64_t row_of(const ShawWindow& window, const PairOfPositions& pair) noexcept {
  return row_of(window, pair.relative());
}

// Returns no rows for an empty block. The last query and the first key have the lowest distance.
ReachedRows reached(const ShawWindow& window, const ScoresExtents& n,
                    const PairPositions& positions) {
  if (is_empty(n)) return {};
  const std::int64_t first = row_of(window, positions.at(n.queries - 1, 0));
  const std::int64_t last = row_of(window, positions.at(0, n.keys - 1));
  return {.first = first, .count = last - first + 1};
}

void read(ReachedRows& rows, const ConstTableView& table) {
  rows.features = table.features;
  rows.values.resize(to_size(rows.count * rows.features));
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const auto row =
        std::span(rows.values).subspan(to_size(i * rows.features), to_size(rows.features));
    load_row(row, table, rows.first + i);
  }
}

// Transposes the rows to [features][rows]. The compiler then vectorises a query's products over
// adjacent rows. Each product sums the features in order.
std::vector<double> transposed(const ReachedRows& rows) {
  std::vector<double> columns(rows.values.size());
  const std::size_t features = to_size(rows.features);
  const std::size_t count = to_size(rows.count);
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t f = 0; f < features; ++f)
      columns[f * count + row] = rows.values[row * features + f];
  }
  return columns;
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
  if (table.table.rows != table.window.rows() || table.table.features != features) {
    return invalid_argument("the table must have left + right + 1 = ", table.window.rows(),
                            " rows of ", features, " features, got rows ", table.table.rows,
                            ", columns ", table.table.features);
  }
  return check_memory(named("table", table.table));
}

struct Block {
  ConstScoresView scores;
  ConstHeadsView heads;
  ShawWindow window;
  PairPositions positions;
};

template <class Visit>
void for_each_row(const ScoresExtents& n, Visit visit) {
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t row = 0; row < n.queries; ++row) {
      for (std::int64_t head = 0; head < n.heads; ++head)
        visit(ScoreIndex{.batch = batch, .head = head, .query = row});
    }
  }
}

// The rows of the table that one query's keys use. Several keys may use the first and the last row;
// one key uses each row in between.
struct MetRows {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t keys_in_first = 0;

  [[nodiscard]] std::size_t count() const noexcept { return to_size(last - first + 1); }
};

MetRows met_rows(const Block& block, std::int64_t query) {
  const std::int64_t keys = block.scores.extents.keys;
  const PairOfPositions first = block.positions.at(query, 0);
  // The difference below fits int64, because no distance is -2^63.
  const std::int64_t left = -block.window.left;
  const std::int64_t before = first.relative() < left ? left - first.relative() : 0;
  return {.first = row_of(block.window, first),
          .last = row_of(block.window, block.positions.at(query, keys - 1)),
          .keys_in_first = to_size(std::min(before, keys - 1) + 1)};
}

// For each used row: sums[row - met.first] = the sum of the scores of the row's keys, in order.
std::span<const double> sum_by_row(std::span<double> sums, std::span<const double> scores,
                                   const MetRows& met) {
  const auto of_met = sums.first(met.count());
  const auto in_first = scores.first(met.keys_in_first);
  const auto others = scores.subspan(met.keys_in_first);
  const auto steps = std::min(others.size(), met.count() - 1);
  std::fill(of_met.begin(), of_met.end(), 0.0);
  of_met.front() = std::accumulate(in_first.begin(), in_first.end(), 0.0);
  std::copy_n(others.begin(), steps, of_met.begin() + 1);
  of_met.back() = std::accumulate(others.begin() + static_cast<std::ptrdiff_t>(steps), others.end(),
                                  of_met.back());
  return of_met;
}

// Gives each key the product of its row. of_met has one product for each used row.
void spread(std::span<double> keys, std::span<const double> of_met, const MetRows& met) {
  const auto others = keys.subspan(met.keys_in_first);
  const auto steps = std::min(others.size(), met.count() - 1);
  std::ranges::fill(keys.first(met.keys_in_first), of_met.front());
  std::copy_n(of_met.begin() + 1, steps, others.begin());
  std::ranges::fill(others.subspan(steps), of_met.back());
}

void add_products(const ScoresView& scores, const Block& block, const ReachedRows& rows) {
  const std::vector<double> columns = transposed(rows);
  std::vector<double> query(to_size(rows.features));
  std::vector<double> products(to_size(rows.count));
  std::vector<double> added(to_size(scores.extents.keys));
  for_each_row(scores.extents, [&](const ScoreIndex& at) {
    load_features(query, block.heads, at);
    const MetRows met = met_rows(block, at.query);
    const auto of_met = std::span(products).first(met.count());
    std::ranges::fill(of_met, 0.0);
    for (std::size_t f = 0; f < query.size(); ++f) {
      const auto column = std::span(columns).subspan(
          f * products.size() + to_size(met.first - rows.first), of_met.size());
      for (std::size_t i = 0; i < of_met.size(); ++i) of_met[i] += query[f] * column[i];
    }
    spread(added, of_met, met);
    add_scores(scores, at, added);
  });
}

void add_values(const HeadsView& out, const Block& block, const ReachedRows& rows) {
  std::vector<double> weights(to_size(block.scores.extents.keys));
  std::vector<double> sums(to_size(rows.count));
  std::vector<double> features(to_size(rows.features));
  for_each_row(block.scores.extents, [&](const ScoreIndex& at) {
    load_scores(weights, block.scores, at);
    const MetRows met = met_rows(block, at.query);
    std::fill(features.begin(), features.end(), 0.0);
    std::int64_t row = met.first;
    for (const double weight : sum_by_row(sums, weights, met)) {
      const auto values = rows.row(row++);
      for (std::size_t f = 0; f < features.size(); ++f) features[f] += weight * values[f];
    }
    add_features(out, at, features);
  });
}

void add_table_gradient(std::span<double> table, const Block& block, const ReachedRows& rows) {
  const auto width = to_size(block.heads.extents.features);
  std::vector<double> scores(to_size(block.scores.extents.keys));
  std::vector<double> sums(to_size(rows.count));
  std::vector<double> features(width);
  for_each_row(block.scores.extents, [&](const ScoreIndex& at) {
    load_scores(scores, block.scores, at);
    load_features(features, block.heads, at);
    const MetRows met = met_rows(block, at.query);
    std::int64_t row = met.first;
    for (const double weight : sum_by_row(sums, scores, met)) {
      const auto gradient = table.subspan(to_size(row++) * width, width);
      for (std::size_t f = 0; f < width; ++f) gradient[f] += weight * features[f];
    }
  });
}

// A call that reads one view and a table, and adds to another view. heads_name: for messages.
struct TableCall {
  NamedView written;
  NamedView read;
  std::string_view heads_name;
  ConstScoresView scores;
  ConstHeadsView heads;
  const ShawTable& table;
};

// Checks the call, then calls add(block, rows), unless there is nothing to add.
template <class Add>
Status add_rows(const TableCall& call, const BiasRange& range, const Add& add) {
  const std::int64_t features = call.heads.extents.features;
  if (auto status = check_apart(call.written, call.read); !status) return status;
  if (auto status = check_same_rows(call.heads_name, call.scores, call.heads); !status)
    return status;
  if (auto status = check_table(call.table, features); !status) return status;
  if (auto status = check_apart(call.written, named("table", call.table.table)); !status)
    return status;
  const auto positions = PairPositions::of(call.scores.extents, range);
  if (!positions) return positions.error();
  auto rows = reached(call.table.window, call.scores.extents, *positions);
  if (rows.count == 0 || features == 0) return {};
  read(rows, with_used_strides(call.table.table));
  add(Block{with_used_strides(call.scores), with_used_strides(call.heads), call.table.window,
            *positions},
      rows);
  return {};
}

}  // namespace
}  // namespace relative

using relative::named;

Result<std::int64_t> shaw_row(std::int64_t relative_position, const ShawWindow& window) noexcept {
  return guarded([&]() -> Result<std::int64_t> {
    if (auto status = relative::check_window(window); !status) return status.error();
    return relative::row_of(window, relative_position);
  });
}

Status add_shaw_scores(const ScoresView& scores, const ConstHeadsView& q, const ShawTable& keys,
                       const BiasRange& range) noexcept {
  return guarded([&]() -> Status {
    return relative::add_rows({named("scores", scores), named("q", q), "q", scores, q, keys}, range,
                              [&](const auto& block, const auto& rows) {
                                add_products(relative::with_used_strides(scores), block, rows);
                              });
  });
}

Status add_shaw_values(const HeadsView& out, const ConstScoresView& weights,
                       const ShawTable& values, const BiasRange& range) noexcept {
  return guarded([&]() -> Status {
    return relative::add_rows(
        {named("out", out), named("weights", weights), "out", weights, out, values}, range,
        [&](const auto& block, const auto& rows) {
          add_values(relative::with_used_strides(out), block, rows);
        });
  });
}

Status add_shaw_gradient(const ShawGradient& gradient, const ConstScoresView& scores,
                         const ConstHeadsView& vectors, const BiasRange& range) noexcept {
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
    if (rows.count == 0 || features == 0) return {};
    relative::add_table_gradient(
        gradient.table,
        {relative::with_used_strides(scores), relative::with_used_strides(vectors), gradient.window,
         *positions},
        rows);
    return {};
  });
}

}  // namespace rotary
