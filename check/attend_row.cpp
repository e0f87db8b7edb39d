// SPDX-License-Identifier: Apache-2.0
#include "check/attend_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "check/views.hpp"
#include "reference/relative.hpp"

namespace rotary::check {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double norm(std::span<const double> head) {
  double squares = 0;
  for (const double feature : head) squares += feature * feature;
  return std::sqrt(squares);
}

// Keeps the largest magnitude so far of each feature. A NaN counts as infinite.
void raise(std::vector<double>& largest, std::span<const double> numbers) {
  for (std::size_t f = 0; f < numbers.size(); ++f)
    largest[f] = std::max(largest[f], std::isnan(numbers[f]) ? infinity : std::abs(numbers[f]));
}

// Equal infinities are within any bound.
bool is_within(double computed, double exact, double bound) {
  return computed == exact || std::abs(computed - exact) <= bound;
}

// Whether the contract covers this size. A size of 0 has no error.
bool is_bounded(double size) { return size == 0 || (size >= 0x1p-80 && size <= 0x1p80); }

std::span<const double> head_of(const reference::Heads& heads, std::size_t first) {
  return std::span(heads.values).subspan(first, reference::size_of(heads.extents.features));
}

std::span<const double> vector_of(const std::optional<reference::ShawVectors>& vectors,
                                  const BiasIndex& pair) {
  if (!vectors) return {};
  const std::size_t row = reference::size_of(reference::shaw_row(vectors->window, pair));
  const std::size_t features = vectors->table.size() / reference::size_of(vectors->window.rows());
  return std::span(vectors->table).subspan(row * features, features);
}

}  // namespace

ExactRow::ExactRow(const AttendedRow& of_call, std::int64_t features)
    : row_(of_call), largest_(reference::size_of(features)), largest_added_(largest_.size()) {}

void ExactRow::add(const SeenKey& key, std::span<const double> value,
                   std::span<const double> added) {
  keys_.push_back(key);
  ++row_.keys;
  row_.score_size = std::max(row_.score_size, key.size);
  row_.distance_size = std::max(row_.distance_size, key.distance_size);
  row_.mask_size = std::max(row_.mask_size, key.mask_size);
  for (std::size_t f = 0; f < value.size(); ++f)
    values_.push_back(value[f] + (added.empty() ? 0 : added[f]));
  raise(largest_, value);
  raise(largest_added_, added);
}

void ExactRow::close(std::int64_t distances) {
  row_.value_distances = std::min(row_.keys, distances);
  row_.score_size = std::max(row_.score_size, 0x1p-60);
  double most = -infinity;
  for (const SeenKey& key : keys_) most = std::max(most, key.score);
  const std::size_t features = largest_.size();
  weights_.assign(keys_.size(), 0);
  out_.assign(features, 0);
  log_sum_exp_ = most;
  if (most == -infinity) return;
  double sum = 0;
  for (const SeenKey& key : keys_) sum += std::exp(key.score - most);
  log_sum_exp_ = most + std::log(sum);
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    weights_[j] = std::exp(keys_[j].score - most) / sum;
    if (keys_[j].score == -infinity) continue;  // the value is not even multiplied by 0
    for (std::size_t f = 0; f < features; ++f) out_[f] += weights_[j] * values_[j * features + f];
  }
}

double ExactRow::size_of(std::size_t feature) const {
  return largest_[feature] + largest_added_[feature];
}

// Returns false for NaN, too.
bool ExactRow::has_bounded_scores() const {
  return std::ranges::all_of(keys_, [](const SeenKey& key) {
    return (key.score == -infinity || std::abs(key.score) <= 0x1p60) && key.size <= 0x1p60 &&
           key.largest_factor <= 0x1p100;
  });
}

bool ExactRow::has_bounded_values() const {
  for (std::size_t f = 0; f < largest_.size(); ++f) {
    if (!is_bounded(size_of(f))) return false;
  }
  return true;
}

std::string ExactRow::fault(const ComputedRow& computed,
                            const std::optional<std::int64_t>& parts) const {
  const bool sees_none = log_sum_exp_ == -infinity;
  const double units = sees_none ? 0
                       : parts   ? attend_mapped_error_bound(row_, *parts)
                                 : attend_error_bound(row_);
  if (std::string wrong = out_fault(computed, units); !wrong.empty()) return wrong;
  if (computed.log_sum_exp) {
    const double bound = sees_none ? 0
                         : parts   ? attend_mapped_log_sum_exp_error_bound(row_, log_sum_exp_)
                                   : attend_log_sum_exp_error_bound(row_, log_sum_exp_);
    if (!is_within(*computed.log_sum_exp, log_sum_exp_, bound))
      return fault_text("log_sum_exp", *computed.log_sum_exp, log_sum_exp_, bound);
  }
  return computed.weights.empty() ? std::string() : weights_fault(computed);
}

std::string ExactRow::out_fault(const ComputedRow& computed, double units) const {
  for (std::size_t f = 0; f < largest_.size(); ++f) {
    const double size = size_of(f);
    if (!is_bounded(size)) continue;
    const bool is_zero = size == 0 || log_sum_exp_ == -infinity;
    const double bound =
        is_zero ? 0 : stored_error_bound(computed.dtype, units, size) * 0x1p-24 * size;
    const bool may_overflow =
        computed.dtype == DType::f16 && size * (1 + units * 0x1p-24) >= f16_overflow;
    if (may_overflow || is_within(computed.out[f], out_[f], bound)) continue;
    return fault_text("feature " + std::to_string(f) + " of " + std::to_string(row_.keys) + " keys",
                      computed.out[f], out_[f], bound);
  }
  return {};
}

std::vector<double> ExactRow::bounds_by_key(DType dtype) const {
  AttendedRow row = row_;
  const double sums = attend_sums_error(row);
  const double rescalings = attend_rescalings(row);
  const std::size_t features = largest_.size();
  std::vector<double> bounds(features);
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    if (weights_[j] == 0) continue;
    row.score_size = keys_[j].size;
    row.distance_size = keys_[j].distance_size;
    const double exponent = attend_score_error(row) + 2.25 * (rescalings + 1) * 0x1p-24;
    const double off = weights_[j] * std::expm1(exponent) * std::exp(exponent);
    for (std::size_t f = 0; f < features; ++f) {
      const double size = std::abs(values_[j * features + f]) + largest_added_[f];
      bounds[f] += off * (size + std::abs(out_[f])) + sums * weights_[j] * size;
    }
  }
  for (std::size_t f = 0; f < features; ++f)
    bounds[f] = stored_element_error(dtype, out_[f], bounds[f]);
  return bounds;
}

// Weights of unseen and masked keys must be 0.
std::string ExactRow::weights_fault(const ComputedRow& computed) const {
  const double bound = attend_weight_error_bound(row_);
  std::size_t seen = 0;
  for (std::size_t column = 0; column < computed.weights.size(); ++column) {
    const double weight = computed.weights[column];
    const std::int64_t key = static_cast<std::int64_t>(column) - computed.first_column;
    const bool sees = seen < keys_.size() && keys_[seen].key == key;
    const double exact = sees ? weights_[seen] : 0;
    const bool is_masked = !sees || keys_[seen].score == -infinity;
    seen += sees ? 1 : 0;
    if (!is_masked && std::isinf(bound)) continue;
    if (exact == 0 ? weight == 0 : is_within(weight, exact, bound * exact + 0x1p-125)) continue;
    return fault_text("the weight of column " + std::to_string(column), weight, exact,
                      bound * exact);
  }
  return {};
}

double bias_size(const RelativeBias& bias, const BiasIndex& at) {
  if (const auto* const alibi = std::get_if<Alibi>(&bias);
      alibi != nullptr && alibi->form == AlibiForm::key_position) {
    const auto slope =
        static_cast<double>(reference::alibi_slopes(*alibi)[reference::size_of(at.head)]);
    return std::abs(slope) *
           (std::abs(static_cast<double>(at.query)) + std::abs(static_cast<double>(at.key)));
  }
  if (const auto* const sandwich = std::get_if<Sandwich>(&bias)) {
    return static_cast<double>(sandwich->dim * sandwich->heads) /
           (8.0 * static_cast<double>(at.head + 1));
  }
  return static_cast<double>(reference::relative_bias(bias, at).magnitude);
}

ExactRow exact_row(const reference::AttentionCase& of, const reference::QueryIndex& at,
                   const AttendedRow& of_call,
                   const std::function<KeyScore(std::int64_t)>& score_of) {
  const reference::AttentionEncoding& encoding = of.attention.encoding;
  const double scale = std::abs(of.attention.scale);
  const double unscaled_q = norm(head_of(of.turned_q, reference::query_offset(of, at)));
  const double q = scale * unscaled_q;
  const double plain_q = scale * norm(head_of(of.q, reference::query_offset(of, at)));
  ExactRow row(of_call, of.v.extents.features);
  const std::vector<double>& numbers = of.attention.mask.numbers;
  for (std::int64_t key = 0; key < of.v.extents.tokens; ++key) {
    if (!reference::sees(of, at, key)) continue;
    const BiasIndex pair = reference::positions_of_pair(of, at, key);
    const KeyScore score = score_of(key);
    const double k = norm(head_of(of.turned_k, reference::key_offset(of, of.turned_k, at, key)));
    const double a = norm(vector_of(encoding.shaw_keys, pair));
    const double number =
        numbers.empty() ? 0 : std::abs(numbers[reference::pair_offset(of, at, key)]);
    row.add({.key = key,
             .score = score.score,
             .size = q * k + plain_q * a + score.bias_size + number,
             .distance_size = plain_q * a,
             .largest_factor = std::max({unscaled_q, q, encoding.shaw_keys ? plain_q : 0, k, a}),
             .mask_size = number},
            head_of(of.v, reference::key_offset(of, of.v, at, key)),
            vector_of(encoding.shaw_values, pair));
  }
  row.close(encoding.shaw_values ? encoding.shaw_values->window.rows() : 0);
  return row;
}

}  // namespace rotary::check
