// SPDX-License-Identifier: Apache-2.0
// Sums in one order, batch row by row by column by head, whatever the strides.
#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/elements.hpp"
#include "relative/evaluators.hpp"
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
void add_all(std::span<double> gradients, const Evaluator& evaluate, const ConstScoresView& d_bias,
             const PairPositions& positions) {
  const ScoresExtents& n = d_bias.extents;
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t row = 0; row < n.queries; ++row) {
      for (std::int64_t column = 0; column < n.keys; ++column) {
        const PairOfPositions pair = positions.at(row, column);
        for (std::int64_t head = 0; head < n.heads; ++head) {
          const double gradient =
              load(d_bias, {.batch = batch, .head = head, .query = row, .key = column});
          evaluate.add_gradient(gradients, {.pair = pair, .head = head, .gradient = gradient});
        }
      }
    }
  }
}

template <class Where>
Status accumulate(std::span<double> gradients, const RelativeBias& bias,
                  const ConstScoresView& d_bias, const Where& where) {
  return guarded([&]() -> Status {
    if (auto status = check_gradient(gradients, bias, d_bias); !status) return status;
    const auto positions = PairPositions::of(d_bias.extents, where);
    if (!positions) return positions.error();
    std::visit(
        [&](const auto& encoding) { add_all(gradients, evaluator(encoding), d_bias, *positions); },
        bias);
    return {};
  });
}

}  // namespace
}  // namespace relative

Status add_bias_gradient(std::span<double> gradients, const RelativeBias& bias,
                         const ConstScoresView& d_bias, const BiasRange& range) {
  return relative::accumulate(gradients, bias, d_bias, range);
}

Status add_bias_gradient(std::span<double> gradients, const RelativeBias& bias,
                         const ConstScoresView& d_bias, const BiasPositions& positions) {
  return relative::accumulate(gradients, bias, d_bias, positions);
}

}  // namespace rotary
