// SPDX-License-Identifier: Apache-2.0
// One query of one head by the definition of attention, in double, and the contract between that
// and what the library computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// A key that the query sees: its score, and what AttendedRow::score_size counts of it.
struct SeenKey {
  std::int64_t column = 0;  // of the weights
  double score = 0;         // without the bias where that is -Inf
  double size = 0;
  double distance_size = 0;
  double largest_factor = 0;  // of the products that the score is made of
  bool is_masked = false;     // by a bias of -Inf: the weight is 0
};

// Bounds of one row; attend_mapped() has others than attend().
struct RowBounds {
  std::function<double(const AttendedRow&)> out;
  std::function<double(const AttendedRow&, double)> log_sum_exp;
};

[[nodiscard]] const RowBounds& attend_bounds();

// The numbers that the library left for a row. weights: [columns]; empty where none are asked for.
struct ComputedRow {
  DType dtype = DType::f32;
  std::span<const double> out;
  std::optional<double> log_sum_exp = {};
  std::span<const double> weights = {};
};

// Keys are added one by one; values and Shaw's vectors of values as they are.
class SoftmaxRow {
 public:
  // For values of so many features.
  void begin(std::int64_t head_dim, double rotation, std::size_t features);

  // Requires `features` numbers each; added: what is added to the value, or empty.
  void add(const SeenKey& key, std::span<const double> value, std::span<const double> added);

  // distances: of Shaw's vectors of values that there are.
  void set_value_distances(std::int64_t distances);

  // Ends the process unless what was computed is within the bounds. A row that meets numbers of
  // which the contract says nothing may be anything.
  void check(const ComputedRow& computed, const RowBounds& bounds);

 private:
  void find_weights();
  [[nodiscard]] bool is_bounded() const;
  void check_out(const ComputedRow& computed, const RowBounds& bounds) const;
  void check_weights(const ComputedRow& computed) const;
  void check_log_sum_exp(double computed, const RowBounds& bounds) const;

  AttendedRow row_;
  std::size_t features_ = 0;
  std::vector<SeenKey> keys_;
  std::vector<double> values_;  // [keys][features], with what is added
  std::vector<double> largest_;
  std::vector<double> largest_added_;
  std::vector<double> weights_;  // [keys]
  std::vector<double> out_;
  double log_sum_exp_ = -std::numeric_limits<double>::infinity();
};

}  // namespace rotary::fuzz
