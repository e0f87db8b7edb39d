// SPDX-License-Identifier: Apache-2.0
// A relative bias as the kernels of attention take it: numbers in units of log2, by distance. Of
// FIRE, whose rows have a divisor of their own, there is only the term that they share
// (fire_rows.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {

// Of key - query, both ends included.
struct Distances {
  std::int64_t first = 0;
  std::int64_t last = -1;

  [[nodiscard]] std::int64_t count() const noexcept { return last - first + 1; }
};

// For heads [first_head, first_head + heads): tables[head * stride + margin + i] of distance
// range.first + i, and `margin` more at each end that repeat the last one there.
struct DistanceTables {
  float* tables = nullptr;
  std::int64_t stride = 0;  // >= range.count() + 2 * margin
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  Distances range;
  std::int64_t margin = 0;
  const double* terms = nullptr;  // of the range, where the bias keeps terms
};

// ALiBi without what is the same for all keys of a row, which softmax does not see: the form
// key_position, slope * key, is the form causal, slope * (key - query), plus slope * query. Its
// slopes are formed when they are asked for, so that it takes no memory.
struct AlibiScores {
  const Alibi& alibi;
};

[[nodiscard]] inline AlibiScores score_evaluator(const Alibi& alibi) noexcept { return {alibi}; }
template <class Bias>
[[nodiscard]] auto score_evaluator(const Bias& bias) {
  return relative::evaluator(bias);
}

template <class... Biases>
std::variant<decltype(score_evaluator(std::declval<const Biases&>()))...> score_evaluators(
    const std::variant<Biases...>&);
using BiasEvaluator = decltype(score_evaluators(std::declval<const RelativeBiases&>()));

// Made once for a call, from a valid bias, which must outlive it.
class ScoreBias {
 public:
  explicit ScoreBias(const RelativeBias& bias);

  // Null: distance tables serve.
  [[nodiscard]] const relative::FireEvaluator* fire() const noexcept;

  // Whether what all heads share takes so long to compute that it is worth its memory.
  [[nodiscard]] bool keeps_terms() const noexcept;

  // The range without the distances at its ends that have the bias of the outermost one that
  // stays; where it has none at all, one of them.
  [[nodiscard]] Distances distinct(Distances range) const noexcept;

  // [range.count()] numbers that fill() takes. Requires a bias that keeps terms.
  void fill_terms(Distances range, double* terms) const noexcept;

  // Not of FIRE.
  void fill(const DistanceTables& tables) const noexcept;

  // What a query at this position adds to its log-sum-exp.
  [[nodiscard]] double row_constant(std::int64_t head, std::int64_t query) const noexcept;

 private:
  BiasEvaluator evaluator_;
  std::int64_t saturation_;  // a distance from which on, to either side, the bias is the same
};

}  // namespace rotary
