// SPDX-License-Identifier: Apache-2.0
// A relative bias as the kernels of attention take it: numbers in units of log2, by distance where
// distance alone counts, else by the keys of one query.
#pragma once

#include <cstdint>
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
};

// values[head * stride + key] of one query and the keys from first_key on.
struct RowTables {
  float* values = nullptr;
  std::int64_t stride = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t query = 0;  // positions
  std::int64_t first_key = 0;
  std::int64_t keys = 0;
};

// ALiBi without what is the same for all keys of a row, which softmax does not see: the form
// key_position, slope * key, is the form causal, slope * (key - query), plus slope * query. Its
// slopes are formed when they are asked for, so that it takes no memory.
struct AlibiScores {
  const Alibi& alibi;
};

using BiasEvaluator = std::variant<relative::T5Evaluator, AlibiScores, relative::KerpleLogEvaluator,
                                   relative::KerplePowerEvaluator, relative::FireEvaluator,
                                   relative::SandwichEvaluator>;

// Made once for a call, from a valid bias, which must outlive it.
class ScoreBias {
 public:
  explicit ScoreBias(const RelativeBias& bias);

  // Whether distance tables serve; else row tables.
  [[nodiscard]] bool is_of_distances() const noexcept;

  // The range without the distances at its ends that have the bias of the outermost one that
  // stays; where it has none at all, one of them.
  [[nodiscard]] Distances distinct(Distances range) const noexcept;

  void fill(const DistanceTables& tables) const noexcept;
  void fill(const RowTables& tables) const noexcept;

  // What a query at this position adds to its log-sum-exp.
  [[nodiscard]] double row_constant(std::int64_t head, std::int64_t query) const noexcept;

 private:
  BiasEvaluator evaluator_;
  std::int64_t saturation_;  // a distance from which on, to either side, the bias is the same
};

}  // namespace rotary
