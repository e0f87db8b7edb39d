// SPDX-License-Identifier: Apache-2.0
#include "rotary/cope.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/pair_positions.hpp"

namespace rotary {
namespace relative {
namespace {

// 1 / (1 + exp(-score)), without overflow: 0 for -Inf, 1 for +Inf.
double logistic(double score) noexcept {
  if (score < 0) {
    const double e = std::exp(score);
    return e / (1 + e);
  }
  return 1 / (1 + std::exp(-score));
}

// A position p between two rows of the table: p = lower + share. If p is NaN, so is share.
struct TablePlace {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  double share = 0;
};

TablePlace place_of(double position) noexcept {
  if (std::isnan(position)) return {.share = position};
  const auto row = static_cast<std::int64_t>(position);  // at least 0
  const double share = position - static_cast<double>(row);
  return {.lower = row, .upper = share > 0 ? row + 1 : row, .share = share};
}

// The gates and table places of one row of scores at a time. Holds the table and buffers, so one
// object serves a whole call.
class ContextualRow {
 public:
  // Requires checked arguments. Reads the table rows that positions can reach. No position exceeds
  // the number of keys, because no gate exceeds 1.
  ContextualRow(const Cope& cope, const ConstScoresView& scores)
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

  void read(const ConstScoresView& scores, const ConstHeadsView& q, const ScoreIndex& at,
            std::int64_t keys) {
    load_features(query_, q, at);
    // Every product sums its features in order. The inner loops run over products, so that the
    // compiler vectorises them.
    std::fill(products_.begin(), products_.end(), 0.0);
    for (std::size_t f = 0; f < query_.size(); ++f) {
      const auto column = std::span(columns_).subspan(f * products_.size(), products_.size());
      for (std::size_t row = 0; row < column.size(); ++row)
        products_[row] += query_[f] * column[row];
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

  [[nodiscard]] double bias(std::int64_t key) const noexcept {
    const TablePlace& at = place(key);
    return (1 - at.share) * products_[to_size(at.lower)] + at.share * products_[to_size(at.upper)];
  }
  // The derivative of a key's bias with respect to its position. It is 0 at whole numbers, and thus
  // also where the position was clipped.
  [[nodiscard]] double slope(std::int64_t key) const noexcept {
    const TablePlace& at = place(key);
    return products_[to_size(at.upper)] - products_[to_size(at.lower)];
  }
  [[nodiscard]] double gate(std::int64_t key) const noexcept { return gates_[to_size(key)]; }
  [[nodiscard]] const TablePlace& place(std::int64_t key) const noexcept {
    return places_[to_size(key)];
  }
  [[nodiscard]] std::span<const double> query() const noexcept { return query_; }
  [[nodiscard]] std::span<const double> table_row(std::int64_t row) const noexcept {
    return std::span(table_).subspan(to_size(row) * query_.size(), query_.size());
  }
  // Number of rows of the table that positions can reach.
  [[nodiscard]] std::int64_t table_rows() const noexcept { return table_rows_; }

 private:
  std::int64_t table_rows_;
  double last_position_;
  std::vector<double> table_;       // [table_rows][features]
  std::vector<double> columns_;     // [features][table_rows]
  std::vector<double> query_;       // [features]
  std::vector<double> products_;    // [table_rows]
  std::vector<double> gates_;       // [keys]
  std::vector<TablePlace> places_;  // [keys]
};

// The positions of a block. Fails if the keys end before the last query, because CoPE counts
// positions back from a query's own key.
Result<PairPositions> causal_positions(const ScoresExtents& n, const BiasRange& range) {
  auto positions = PairPositions::of(n, range);
  if (!positions || n.queries == 0 || n.keys == 0) return positions;
  const std::int64_t last_query = positions->query(n.queries - 1);
  const std::int64_t last_key = positions->key(n.keys - 1);
  if (last_key >= last_query) return positions;
  return invalid_argument("keys must reach the last query, which stands at ", last_query,
                          ", got keys up to ", last_key);
}

// Calls visit(at, keys) for every row of every head. keys: number of keys at or before the query.
template <class Visit>
void for_each_row(const ScoresExtents& n, const PairPositions& positions, Visit visit) {
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t head = 0; head < n.heads; ++head) {
      for (std::int64_t row = 0; row < n.queries; ++row) {
        const std::int64_t up_to_query = positions.query(row) - positions.key(0) + 1;
        visit(ScoreIndex{.batch = batch, .head = head, .query = row},
              std::clamp<std::int64_t>(up_to_query, 0, n.keys));
      }
    }
  }
}

Status check_cope(const ConstScoresView& scores, const ConstHeadsView& q, const Cope& cope) {
  if (auto status = check_same_rows("q", scores, q); !status) return status;
  if (cope.table.rows < 1 || cope.table.features != q.extents.features) {
    return invalid_argument("the table must have at least one row of ", q.extents.features,
                            " features, got rows ", cope.table.rows, ", columns ",
                            cope.table.features);
  }
  return check_memory(named("table", cope.table));
}

Status check_forward(const ScoresView& scores, const ConstHeadsView& q, const Cope& cope) {
  if (auto status = check_apart(named("scores", scores), named("q", q)); !status) return status;
  if (auto status = check_cope(scores, q, cope); !status) return status;
  return check_apart(named("scores", scores), named("table", cope.table));
}

Status check_gradients(const CopeGradients& gradients, const CopeInputs& inputs, const Cope& cope,
                       const ConstScoresView& d_scores) {
  for (const auto& view : {named("inputs.scores", inputs.scores), named("inputs.q", inputs.q)}) {
    if (auto status = check_memory(view); !status) return status;
  }
  if (auto status = check_cope(inputs.scores, inputs.q, cope); !status) return status;
  const ScoresExtents& n = inputs.scores.extents;
  const ConstScoresView written_scores = gradients.scores;
  for (const auto& [name, view] :
       {std::pair("d_scores", d_scores), std::pair("gradients.scores", written_scores)}) {
    if (view.extents == n) continue;
    return invalid_argument(name, " must have the extents of inputs.scores, got ",
                            named(name, view).shape(), " and ",
                            named("inputs.scores", inputs.scores).shape());
  }
  if (gradients.q.extents != inputs.q.extents) {
    return invalid_argument("gradients.q must have the extents of inputs.q, got ",
                            named("gradients.q", gradients.q).shape(), " and ",
                            named("inputs.q", inputs.q).shape());
  }
  const auto wanted =
      static_cast<std::size_t>(cope.table.rows) * static_cast<std::size_t>(cope.table.features);
  if (gradients.table.size() != wanted) {
    return invalid_argument("gradients.table must have ", wanted, " numbers, as the table, got ",
                            gradients.table.size());
  }
  const NamedView written[] = {named("gradients.scores", gradients.scores),
                               named("gradients.q", gradients.q),
                               named("gradients.table", gradients.table)};
  const NamedView reads[] = {named("inputs.scores", inputs.scores), named("inputs.q", inputs.q),
                             named("table", cope.table), named("d_scores", d_scores)};
  for (std::size_t i = 0; i < 3; ++i) {
    for (const NamedView& view : reads) {
      if (auto status = check_apart(written[i], view); !status) return status;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (auto status = check_apart(written[i], written[j]); !status) return status;
    }
  }
  return {};
}

// Computes the gradients of one row from the gradients of its scores.
class RowGradient {
 public:
  RowGradient(CopeGradients out, const ContextualRow& row)
      : out_(out), row_(row), products_(to_size(row.table_rows())), query_(row.query().size()) {}

  void add(const ConstScoresView& d_scores, ScoreIndex at, std::int64_t keys) {
    std::fill(products_.begin(), products_.end(), 0.0);
    double positions = 0;  // gradients of the positions, summed over the keys so far
    for (at.key = 0; at.key < d_scores.extents.keys; ++at.key) {
      const double gradient = load(d_scores, at);
      if (at.key >= keys) {
        relative::add(out_.scores, at, gradient);
        continue;
      }
      const TablePlace& place = row_.place(at.key);
      products_[to_size(place.lower)] += (1 - place.share) * gradient;
      products_[to_size(place.upper)] += place.share * gradient;
      positions += gradient * row_.slope(at.key);
      const double gate = row_.gate(at.key);
      relative::add(out_.scores, at, gradient + positions * gate * (1 - gate));
    }
    add_products(at);
  }

 private:
  void add_products(const ScoreIndex& at) {
    std::fill(query_.begin(), query_.end(), 0.0);
    const std::size_t width = query_.size();
    for (std::size_t i = 0; i < products_.size(); ++i) {
      if (products_[i] == 0) continue;  // a row that no position reached: it may hold Inf or NaN
      const auto values = row_.table_row(static_cast<std::int64_t>(i));
      const auto sums = out_.table.subspan(i * width, width);
      for (std::size_t f = 0; f < width; ++f) {
        query_[f] += products_[i] * values[f];
        sums[f] += products_[i] * row_.query()[f];
      }
    }
    add_features(out_.q, at, query_);
  }

  CopeGradients out_;
  const ContextualRow& row_;
  std::vector<double> products_;  // [table_rows]: gradients of q · table[row]
  std::vector<double> query_;     // [features]
};

}  // namespace
}  // namespace relative

Status add_cope(const ScoresView& scores, const ConstHeadsView& q, const Cope& cope,
                const BiasRange& range) noexcept {
  return guarded([&]() -> Status {
    if (auto status = relative::check_forward(scores, q, cope); !status) return status;
    const auto positions = relative::causal_positions(scores.extents, range);
    if (!positions) return positions.error();
    if (relative::is_empty(scores.extents)) return {};
    const ScoresView used = relative::with_used_strides(scores);
    const ConstHeadsView queries = relative::with_used_strides(q);
    relative::ContextualRow row({.table = relative::with_used_strides(cope.table)}, used);
    relative::for_each_row(used.extents, *positions,
                           [&](relative::ScoreIndex at, std::int64_t keys) {
                             row.read(used, queries, at, keys);
                             for (at.key = 0; at.key < keys; ++at.key)
                               relative::add(used, at, row.bias(at.key));
                           });
    return {};
  });
}

Status add_cope_gradient(const CopeGradients& gradients, const CopeInputs& inputs, const Cope& cope,
                         const ConstScoresView& d_scores, const BiasRange& range) noexcept {
  return guarded([&]() -> Status {
    if (auto status = relative::check_gradients(gradients, inputs, cope, d_scores); !status)
      return status;
    const auto positions = relative::causal_positions(inputs.scores.extents, range);
    if (!positions) return positions.error();
    if (relative::is_empty(inputs.scores.extents)) return {};
    const CopeInputs used{.scores = relative::with_used_strides(inputs.scores),
                          .q = relative::with_used_strides(inputs.q)};
    const ConstScoresView upstream = relative::with_used_strides(d_scores);
    relative::ContextualRow row({.table = relative::with_used_strides(cope.table)}, used.scores);
    relative::RowGradient gradient({.scores = relative::with_used_strides(gradients.scores),
                                    .q = relative::with_used_strides(gradients.q),
                                    .table = gradients.table},
                                   row);
    relative::for_each_row(used.scores.extents, *positions,
                           [&](const relative::ScoreIndex& at, std::int64_t keys) {
                             row.read(used.scores, used.q, at, keys);
                             gradient.add(upstream, at, keys);
                           });
    return {};
  });
}

}  // namespace rotary
