// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/softmax_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "fuzz/check.hpp"

namespace rotary::fuzz {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double score_of(const SeenKey& key) { return key.is_masked ? -infinity : key.score; }

double size_of(double number) { return std::isnan(number) ? infinity : std::abs(number); }

std::string describe(double computed, double exact, double bound) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%.9g where %.9g is right within %.9g", computed, exact,
                bound);
  return text.data();
}

bool is_within(double computed, double exact, double bound) {
  return computed == exact || std::abs(computed - exact) <= bound;
}

}  // namespace

const RowBounds& attend_bounds() {
  static const RowBounds bounds{.out = attend_error_bound,
                                .log_sum_exp = attend_log_sum_exp_error_bound};
  return bounds;
}

void SoftmaxRow::begin(std::int64_t head_dim, double rotation, std::size_t features) {
  row_ = {.head_dim = head_dim, .rotation = rotation};
  features_ = features;
  keys_.clear();
  values_.clear();
  largest_.assign(features, 0);
  largest_added_.assign(features, 0);
}

void SoftmaxRow::set_value_distances(std::int64_t distances) {
  row_.value_distances = std::min(static_cast<std::int64_t>(keys_.size()), distances);
}

void SoftmaxRow::add(const SeenKey& key, std::span<const double> value,
                     std::span<const double> added) {
  keys_.push_back(key);
  ++row_.keys;
  row_.score_size = std::max(row_.score_size, key.size);
  row_.distance_size = std::max(row_.distance_size, key.distance_size);
  for (std::size_t f = 0; f < features_; ++f) {
    values_.push_back(value[f] + (added.empty() ? 0 : added[f]));
    largest_[f] = std::max(largest_[f], size_of(value[f]));
    if (!added.empty()) largest_added_[f] = std::max(largest_added_[f], size_of(added[f]));
  }
}

void SoftmaxRow::find_weights() {
  double most = -infinity;
  for (const SeenKey& key : keys_) most = std::max(most, score_of(key));
  weights_.assign(keys_.size(), 0);
  out_.assign(features_, 0);
  log_sum_exp_ = most;
  if (most == -infinity) return;
  double sum = 0;
  for (const SeenKey& key : keys_) sum += std::exp(score_of(key) - most);
  log_sum_exp_ = most + std::log(sum);
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    weights_[j] = std::exp(score_of(keys_[j]) - most) / sum;
    for (std::size_t f = 0; f < features_; ++f) out_[f] += weights_[j] * values_[j * features_ + f];
  }
}

// False for NaN, too.
bool SoftmaxRow::is_bounded() const {
  return std::ranges::all_of(keys_, [](const SeenKey& key) {
    return std::abs(key.score) <= 0x1p60 && key.size <= 0x1p60 && key.largest_factor <= 0x1p100;
  });
}

void SoftmaxRow::check(const ComputedRow& computed, const RowBounds& bounds) {
  if (!is_bounded()) return;
  row_.score_size = std::max(row_.score_size, 0x1p-60);
  find_weights();
  check_out(computed, bounds);
  if (computed.log_sum_exp) check_log_sum_exp(*computed.log_sum_exp, bounds);
  if (!computed.weights.empty()) check_weights(computed);
}

void SoftmaxRow::check_out(const ComputedRow& computed, const RowBounds& bounds) const {
  const double units = log_sum_exp_ == -infinity ? 0 : bounds.out(row_);
  for (std::size_t f = 0; f < features_; ++f) {
    const double size = largest_[f] + largest_added_[f];
    const bool speaks = size == 0 || (size >= 0x1p-80 && size <= 0x1p80);
    if (!speaks) continue;  // not a number, or beyond the contract
    const bool is_zero = size == 0 || log_sum_exp_ == -infinity;
    const double bound =
        is_zero ? 0 : stored_error_bound(computed.dtype, units, size) * 0x1p-24 * size;
    const bool may_overflow =
        computed.dtype == DType::f16 && size * (1 + units * 0x1p-24) >= f16_overflow;
    if (may_overflow || is_within(computed.out[f], out_[f], bound)) continue;
    fail("an element must be within the bound", describe(computed.out[f], out_[f], bound));
  }
}

void SoftmaxRow::check_log_sum_exp(double computed, const RowBounds& bounds) const {
  const double bound = log_sum_exp_ == -infinity ? 0 : bounds.log_sum_exp(row_, log_sum_exp_);
  if (is_within(computed, log_sum_exp_, bound)) return;
  fail("log_sum_exp must be within the bound", describe(computed, log_sum_exp_, bound));
}

void SoftmaxRow::check_weights(const ComputedRow& computed) const {
  const double bound = attend_weight_error_bound(row_);
  std::vector<double> left(computed.weights.begin(), computed.weights.end());
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    const auto column = static_cast<std::size_t>(keys_[j].column);
    const double exact = weights_[j];
    const double weight = computed.weights[column];
    left[column] = 0;
    const bool is_right =
        keys_[j].is_masked
            ? weight == 0
            : std::isinf(bound) || is_within(weight, exact, bound * exact + 0x1p-125);
    if (is_right) continue;
    fail("a weight must be within the bound", describe(weight, exact, bound * exact));
  }
  if (std::ranges::any_of(left, [](double each) { return each != 0; }))
    fail("a key that the query does not see must have a weight of 0");
}

}  // namespace rotary::fuzz
