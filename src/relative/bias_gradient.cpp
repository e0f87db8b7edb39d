// SPDX-License-Identifier: Apache-2.0
// Gradients are summed in an order that does not depend on strides. For a bias of the distance, a
// head's score gradients are first summed for each distance, over batch rows, rows and columns.
// Each distance is then evaluated once. FIRE is summed row by row. Other biases, and distances too
// many for PairPositions::distances(), go pair by pair, over batch rows, rows, columns and heads.
#include <algorithm>
#include <vector>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/evaluators.hpp"
#include "relative/fire_row.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {
namespace relative {
namespace {

Status check_gradient(std::span<double> gradients, const RelativeBias& bias,
                      const ConstScoresView& d_bias) {
  if (auto status = validate(bias); !status) return status;
  if (auto status = check_apart(named("gradients", gradients), named("d_bias", d_bias)); !status)
    return status;
  if (d_bias.extents.heads != head_count(bias)) {
    return invalid_argument("d_bias: heads must be those of the bias, ", head_count(bias), "; got ",
                            d_bias.extents.heads);
  }
  if (gradients.size() != to_size(parameter_count(bias))) {
    return invalid_argument("gradients must be one for each of ", parameter_count(bias),
                            " parameters, got ", gradients.size());
  }
  return {};
}

template <class Evaluator>
void add_by_distance(std::span<double> gradients, const Evaluator& evaluate,
                     const ConstScoresView& d_bias, const PairPositions& positions,
                     const Distances& distances) {
  const ScoresExtents& n = d_bias.extents;
  std::vector<double> row(to_size(n.keys));
  std::vector<double> sums(to_size(distances.count));
  ScoreIndex at;
  for (at.head = 0; at.head < n.heads; ++at.head) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (at.batch = 0; at.batch < n.batch; ++at.batch) {
      for (at.query = 0; at.query < n.queries; ++at.query) {
        load_scores(row, d_bias, at);
        for (std::size_t i = 0; i < row.size(); ++i) {
          const auto pair = positions.at(at.query, static_cast<std::int64_t>(i));
          sums[to_size(distances.index_of(pair))] += row[i];
        }
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const PairOfPositions pair = distances.pair(static_cast<std::int64_t>(i));
      evaluate.add_gradient(
          gradients,
          {.pair = pair, .term = evaluate.shared_term(pair), .head = at.head, .gradient = sums[i]});
    }
  }
}

template <class Evaluator>
void add_by_pair(std::span<double> gradients, const Evaluator& evaluate,
                 const ConstScoresView& d_bias, const PairPositions& positions) {
  const ScoresExtents& n = d_bias.extents;
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t row = 0; row < n.queries; ++row) {
      for (std::int64_t column = 0; column < n.keys; ++column) {
        const PairOfPositions pair = positions.at(row, column);
        const double term = evaluate.shared_term(pair);
        for (std::int64_t head = 0; head < n.heads; ++head) {
          const double gradient =
              load(d_bias, {.batch = batch, .head = head, .query = row, .key = column});
          evaluate.add_gradient(gradients,
                                {.pair = pair, .term = term, .head = head, .gradient = gradient});
        }
      }
    }
  }
}

template <class Evaluator>
void add_all(std::span<double> gradients, const Evaluator& evaluate, const ConstScoresView& d_bias,
             const PairPositions& positions) {
  const auto distances = positions.distances(d_bias.extents);
  if (evaluate.depends_on() == Dependence::distance && distances)
    return add_by_distance(gradients, evaluate, d_bias, positions, *distances);
  add_by_pair(gradients, evaluate, d_bias, positions);
}

// Adds gradients row by row, and within a row by batch row and then by head.
void add_all(std::span<double> gradients, const FireEvaluator& evaluate,
             const ConstScoresView& d_bias, const PairPositions& positions) {
  const ScoresExtents& n = d_bias.extents;
  FireRow row(evaluate, positions, n);
  FireGradient gradient(evaluate, n.keys);
  std::vector<double> of_row(to_size(n.keys));
  ScoreIndex at;
  for (at.query = 0; at.query < n.queries; ++at.query) {
    row.read(at.query);
    for (at.batch = 0; at.batch < n.batch; ++at.batch) {
      for (at.head = 0; at.head < n.heads; ++at.head) {
        load_scores(of_row, d_bias, at);
        gradient.add(row, at.head, of_row);
      }
    }
    gradient.finish_row(gradients, row, positions, at.query);
  }
  gradient.finish(gradients);
}

template <class Where>
Status accumulate(std::span<double> gradients, const RelativeBias& bias,
                  const ConstScoresView& d_bias, const Where& where) {
  return guarded([&]() -> Status {
    if (auto status = check_gradient(gradients, bias, d_bias); !status) return status;
    const auto positions = PairPositions::of(d_bias.extents, where);
    if (!positions) return positions.error();
    if (is_empty(d_bias.extents)) return {};
    const ConstScoresView used = with_used_strides(d_bias);
    std::visit(
        [&](const auto& encoding) { add_all(gradients, evaluator(encoding), used, *positions); },
        bias);
    return {};
  });
}

}  // namespace
}  // namespace relative

Status add_bias_gradient(std::span<double> gradients, const RelativeBias& bias,
                         const ConstScoresView& d_bias, const BiasRange& range) noexcept {
  return relative::accumulate(gradients, bias, d_bias, range);
}

Status add_bias_gradient(std::span<double> gradients, const RelativeBias& bias,
                         const ConstScoresView& d_bias, const BiasPositions& positions) noexcept {
  return relative::accumulate(gradients, bias, d_bias, positions);
}

}  // namespace rotary
