// SPDX-License-Identifier: Apache-2.0
// One query of one head by the definition of attention, in double, and the contract between that
// and what the library computed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/attention_case.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::check {

// The score of a key, -Inf where a bias masks it, and the size of the bias in it.
struct KeyScore {
  double score = 0;
  double bias_size = 0;
};

// The numbers that the library left for a row. weights: [columns], of which `first_column` belongs
// to key 0; empty where none are asked for.
struct ComputedRow {
  DType dtype = DType::f32;
  std::vector<double> out;
  std::optional<double> log_sum_exp = {};
  std::vector<double> weights = {};
  std::int64_t first_column = 0;
};

// A key that the query sees: its score, and what AttendedRow::score_size counts of it.
struct SeenKey {
  std::int64_t key = 0;
  double score = 0;  // -Inf where a bias masks it: the weight is 0
  double size = 0;
  double distance_size = 0;
  double largest_factor = 0;  // of the products that the score is made of
  double mask_size = 0;
};

class ExactRow {
 public:
  // of_call: what is the same for all rows of a call.
  ExactRow(const AttendedRow& of_call, std::int64_t features);

  // Keys are added one by one, in order; added: what is added to the value, or empty.
  void add(const SeenKey& key, std::span<const double> value, std::span<const double> added = {});

  // After all keys. distances: of Shaw's vectors of values that there are.
  void close(std::int64_t distances = 0);

  [[nodiscard]] const std::vector<SeenKey>& keys() const noexcept { return keys_; }
  [[nodiscard]] const std::vector<double>& weights() const noexcept { return weights_; }
  [[nodiscard]] const std::vector<double>& out() const noexcept { return out_; }
  [[nodiscard]] double log_sum_exp() const noexcept { return log_sum_exp_; }

  // True where the contract speaks of the scores, and of every feature of out.
  [[nodiscard]] bool has_bounded_scores() const;
  [[nodiscard]] bool has_bounded_values() const;

  // Says which computed number is not within its bound; empty where all are. Requires bounded
  // scores; passes over features that are not bounded. parts: of attend_mapped().
  [[nodiscard]] std::string fault(const ComputedRow& computed,
                                  const std::optional<std::int64_t>& parts) const;

  // |error| of each feature of out by every key's own score in place of the largest one, which a
  // bias can make useless where it gives distant keys large scores and almost no weight. A weight
  // that is off by a factor moves the result by that times |v - out|.
  [[nodiscard]] std::vector<double> bounds_by_key(DType dtype) const;

 private:
  // The largest |value| of a feature, plus that of what is added.
  [[nodiscard]] double size_of(std::size_t feature) const;
  [[nodiscard]] std::string out_fault(const ComputedRow& computed, double units) const;
  [[nodiscard]] std::string weights_fault(const ComputedRow& computed) const;

  AttendedRow row_;
  std::vector<SeenKey> keys_;
  std::vector<double> values_;  // [keys][features], with what is added
  std::vector<double> largest_;
  std::vector<double> largest_added_;
  std::vector<double> weights_;  // [keys]
  std::vector<double> out_;
  double log_sum_exp_ = 0;
};

// The row of a query. score_of: asked for keys that the query sees.
[[nodiscard]] ExactRow exact_row(const reference::AttentionCase& of,
                                 const reference::QueryIndex& at, const AttendedRow& of_call,
                                 const std::function<KeyScore(std::int64_t)>& score_of);

// The magnitudes of what the formula of a bias adds. For ALiBi's form key_position, what attend()
// adds to the scores and to their log-sum-exp. A table of T5's must be of f32 or f64.
[[nodiscard]] double bias_size(const RelativeBias& bias, const BiasIndex& at);

}  // namespace rotary::check
