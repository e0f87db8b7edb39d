// SPDX-License-Identifier: Apache-2.0
#include "relative/contextual_row.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "relative/checks.hpp"

namespace rotary::relative {
namespace {

// Without overflow: 0 of -Inf, 1 of +Inf.
double logistic(double score) noexcept {
  if (score < 0) {
    const double e = std::exp(score);
    return e / (1 + e);
  }
  return 1 / (1 + std::exp(-score));
}

TablePlace place_of(double position) noexcept {
  if (std::isnan(position)) return {.share = position};
  const auto row = static_cast<std::int64_t>(position);  // at least 0
  const double share = position - static_cast<double>(row);
  return {.lower = row, .upper = share > 0 ? row + 1 : row, .share = share};
}

}  // namespace

Status check_cope(const ConstScoresView& scores, const ConstHeadsView& q, const Cope& cope) {
  if (auto status = check_same_rows("q", scores, q); !status) return status;
  if (cope.table.rows < 1 || cope.table.features != q.extents.features) {
    return invalid_argument("the table must have at least one row of ", q.extents.features,
                            " features, got rows ", cope.table.rows, ", columns ",
                            cope.table.features);
  }
  return check_memory(named("table", cope.table));
}

// A position is at most the number of keys.
ContextualRow::ContextualRow(const Cope& cope, const ConstScoresView& scores)
    : table_rows_(std::min(cope.table.rows, scores.extents.keys + 1)),
      last_position_(static_cast<double>(cope.table.rows - 1)),
      table_(to_size(table_rows_ * cope.table.features)),
      columns_(table_.size()),
      query_(to_size(cope.table.features)),
      products_(to_size(table_rows_)),
      gates_(to_size(scores.extents.keys)),
      places_(to_size(scores.extents.keys)) {
  const std::size_t width = query_.size();
  for (std::int64_t row = 0; row < table_rows_; ++row) {
    load_row(std::span(table_).subspan(to_size(row) * width, width), cope.table, row);
    for (std::size_t f = 0; f < width; ++f)
      columns_[f * products_.size() + to_size(row)] = table_row(row)[f];
  }
}

void ContextualRow::read(const ConstScoresView& scores, const ConstHeadsView& q,
                         const ScoreIndex& at, std::int64_t keys) {
  load_features(query_, q, at);
  // Each a sum over the features in order, side by side for the compiler to vectorise.
  std::fill(products_.begin(), products_.end(), 0.0);
  for (std::size_t f = 0; f < query_.size(); ++f) {
    const auto column = std::span(columns_).subspan(f * products_.size(), products_.size());
    for (std::size_t row = 0; row < column.size(); ++row) products_[row] += query_[f] * column[row];
  }
  load_scores(std::span(gates_).first(to_size(keys)), scores, at);
  double position = 0;
  for (std::int64_t key = keys - 1; key >= 0; --key) {
    const double one = logistic(gates_[to_size(key)]);
    position += one;
    gates_[to_size(key)] = one;
    places_[to_size(key)] = place_of(position > last_position_ ? last_position_ : position);
  }
}

std::int64_t ContextualRow::visible(const PairPositions& positions, std::int64_t row,
                                    std::int64_t keys) noexcept {
  const std::int64_t up_to_query = positions.query(row) - positions.key(0) + 1;
  return std::clamp<std::int64_t>(up_to_query, 0, keys);
}

double ContextualRow::bias(std::int64_t key) const noexcept {
  const TablePlace& at = place(key);
  return (1 - at.share) * products_[to_size(at.lower)] + at.share * products_[to_size(at.upper)];
}

double ContextualRow::slope(std::int64_t key) const noexcept {
  const TablePlace& at = place(key);
  return products_[to_size(at.upper)] - products_[to_size(at.lower)];
}

double ContextualRow::gate(std::int64_t key) const noexcept { return gates_[to_size(key)]; }

const TablePlace& ContextualRow::place(std::int64_t key) const noexcept {
  return places_[to_size(key)];
}

std::span<const double> ContextualRow::table_row(std::int64_t row) const noexcept {
  return std::span(table_).subspan(to_size(row) * query_.size(), query_.size());
}

}  // namespace rotary::relative
