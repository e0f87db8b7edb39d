// SPDX-License-Identifier: Apache-2.0
// Computes one query of one head by the definition of attention, in double. Checks the library's
// row for the same query against the contract's bounds.
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

struct KeyScore {
  double score = 0;      // -Inf if a bias masks the key
  double bias_size = 0;  // see bias_size()
};

// The library's numbers for a row. weights: [columns], or empty; key 0 is at `first_column`.
struct ComputedRow {
  DType dtype = DType::f32;
  std::vector<double> out;
  std::optional<double> log_sum_exp = {};
  std::vector<double> weights = {};
  std::int64_t first_column = 0;
};

// A visible key: its score, and the sizes that bounds depend on.
struct SeenKey {
  std::int64_t key = 0;
  double score = 0;  // -Inf if a bias masks the key: then its weight is 0
  double size = 0;
  double distance_size = 0;
  double largest_factor = 0;  // the largest norm of a vector in the score's dot products
  double mask_size = 0;
};

class ExactRow {
 public:
  // of_call: the quantities that all rows of a call share.
  ExactRow(const AttendedRow& of_call, std::int64_t features);

  // Adds the next key. added: Shaw's vector that is added to the value, or empty.
  void add(const SeenKey& key, std::span<const double> value, std::span<const double> added = {});

  // Call after all keys. distances: number of Shaw's value vectors.
  void close(std::int64_t distances = 0);

  [[nodiscard]] const std::vector<SeenKey>& keys() const noexcept { return keys_; }
  [[nodiscard]] const std::vector<double>& weights() const noexcept { return weights_; }
  [[nodiscard]] const std::vector<double>& out() const noexcept { return out_; }
  [[nodiscard]] double log_sum_exp() const noexcept { return log_sum_exp_; }

  // Whether the contract covers the scores, and every feature of out.
  [[nodiscard]] bool has_bounded_scores() const;
  [[nodiscard]] bool has_bounded_values() const;

  // Names the first number beyond its bound; empty if there is none. Requires bounded scores. Skips
  // unbounded features. parts: for attend_mapped().
  [[nodiscard]] std::string fault(const ComputedRow& computed,
                                  const std::optional<std::int64_t>& parts) const;

  // The bound of each feature of out, from each key's own score size. The row's largest size gives
  // useless bounds if a bias makes distant scores very negative: distant keys then have hardly any
  // weight. A weight's relative error e changes the result by e * weight * |v - out|.
  [[nodiscard]] std::vector<double> bounds_by_key(DType dtype) const;

 private:
  // The largest |value| of a feature, plus the largest |added|.
  [[nodiscard]] double size_of(std::size_t feature) const;
  [[nodiscard]] std::string out_fault(const ComputedRow& computed, double units) const;
  [[nodiscard]] std::string weights_fault(const ComputedRow& computed) const;

  AttendedRow row_;
  std::vector<SeenKey> keys_;
  std::vector<double> values_;  // [keys][features]: value + added
  std::vector<double> largest_;
  std::vector<double> largest_added_;
  std::vector<double> weights_;  // [keys]
  std::vector<double> out_;
  double log_sum_exp_ = 0;
};

// Computes a query's row. Calls score_of only for visible keys.
[[nodiscard]] ExactRow exact_row(const reference::AttentionCase& of,
                                 const reference::QueryIndex& at, const AttendedRow& of_call,
                                 const std::function<KeyScore(std::int64_t)>& score_of);

// The sum of the magnitudes of a bias's terms. ALiBi's form key_position has the terms slope * key
// and slope * query, because attend() uses their difference. A T5 table must be f32 or f64.
[[nodiscard]] double bias_size(const RelativeBias& bias, const BiasIndex& at);

}  // namespace rotary::check
