// SPDX-License-Identifier: Apache-2.0
// A relative bias as attention kernels take it: times log2(e), by distance. FIRE's rows have
// different divisors, so only FIRE's shared term is computed here (see fire_rows.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "kernels/attend/attend_kernels.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {

// Range of key - query, both ends included.
struct Distances {
  std::int64_t first = 0;
  std::int64_t last = -1;

  [[nodiscard]] std::int64_t count() const noexcept { return last - first + 1; }
};

// For heads [first_head, first_head + heads): tables[head * stride + margin + i] is the bias at
// distance range.first + i. The `margin` entries at each end repeat the outermost bias.
struct DistanceTables {
  float* tables = nullptr;
  std::int64_t stride = 0;  // >= range.count() + 2 * margin
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  Distances range;
  std::int64_t margin = 0;
  const double* terms = nullptr;  // [range.count() + lane_multiple], if the bias keeps terms
};

// ALiBi without the constant that all keys of a row share, because softmax ignores it. Form
// key_position (slope * key) equals form causal (slope * (key - query)) plus slope * query. Slopes
// are computed on request, so they take no memory.
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

// Made once per call from a valid bias, which must outlive it.
class ScoreBias {
 public:
  explicit ScoreBias(const RelativeBias& bias);

  // Null for every bias but FIRE; distance tables serve the others.
  [[nodiscard]] const relative::FireEvaluator* fire() const noexcept;

  // True if the part that all heads share is costly enough to keep in memory.
  [[nodiscard]] bool keeps_terms() const noexcept;

  // Cuts off far distances where the bias is constant: they have the bias of the nearest remaining
  // distance. Always keeps at least one distance.
  [[nodiscard]] Distances distinct(Distances range) const noexcept;

  // Writes range.count() terms, for fill() or FireRows. Requires keeps_terms().
  void fill_terms(Distances range, double* terms) const noexcept;

  // Requires a bias other than FIRE.
  void fill(const DistanceTables& tables, const kernels::BiasKernels& kernels) const noexcept;

  // The constant to add to the log-sum-exp of a query at this position.
  [[nodiscard]] double row_constant(std::int64_t head, std::int64_t query) const noexcept;

 private:
  BiasEvaluator evaluator_;
  std::int64_t saturation_;  // the bias is constant from this distance on, in either direction
};

}  // namespace rotary
