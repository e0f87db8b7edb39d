// SPDX-License-Identifier: Apache-2.0
#include "support/attention/exact_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <variant>

#include "reference/relative.hpp"

namespace rotary::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double size_of_number(double number) { return std::isnan(number) ? infinity : std::abs(number); }

double norm(std::span<const double> head) {
  double squares = 0;
  for (const double feature : head) squares += feature * feature;
  return std::sqrt(squares);
}

std::string describe(const char* what, double computed, double exact, double bound) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%s: %.9g where %.9g is right within %.9g", what,
                computed, exact, bound);
  return text.data();
}

// Both may be the same infinity.
bool is_within(double computed, double exact, double bound) {
  return computed == exact || std::abs(computed - exact) <= bound;
}

// The contract speaks of such a size; 0 is exact.
bool is_bounded(double size) { return size == 0 || (size >= 0x1p-80 && size <= 0x1p80); }

// Empty without vectors.
std::span<const double> vector_of(const std::optional<reference::ShawVectors>& vectors,
                                  const BiasIndex& pair) {
  if (!vectors) return {};
  const auto row = static_cast<std::size_t>(reference::shaw_row(vectors->window, pair));
  const std::size_t features =
      vectors->table.size() / static_cast<std::size_t>(vectors->window.rows());
  return std::span(vectors->table).subspan(row * features, features);
}

}  // namespace

const RowBounds& attend_bounds() {
  static const RowBounds bounds{.out = attend_error_bound,
                                .log_sum_exp = attend_log_sum_exp_error_bound};
  return bounds;
}

// ClippedAngle has a part for each pair and one for the rest, the others three.
RowBounds attend_mapped_bounds(const PositionMap& map, std::int64_t pairs) {
  const std::int64_t parts = std::holds_alternative<ClippedAngle>(map) ? pairs + 1 : 3;
  return {.out = [=](const AttendedRow& row) { return attend_mapped_error_bound(row, parts); },
          .log_sum_exp = attend_mapped_log_sum_exp_error_bound};
}

ExactRow::ExactRow(std::int64_t head_dim, double rotation, std::int64_t features)
    : row_{.head_dim = head_dim, .rotation = rotation},
      features_(static_cast<std::size_t>(features)),
      largest_(features_),
      largest_added_(features_) {}

void ExactRow::add(const SeenKey& key, std::span<const double> value,
                   std::span<const double> added) {
  keys_.push_back(key);
  ++row_.keys;
  row_.score_size = std::max(row_.score_size, key.size);
  row_.distance_size = std::max(row_.distance_size, key.distance_size);
  row_.mask_size = std::max(row_.mask_size, key.mask_size);
  for (std::size_t f = 0; f < features_; ++f) {
    values_.push_back(value[f] + (added.empty() ? 0 : added[f]));
    largest_[f] = std::max(largest_[f], size_of_number(value[f]));
    if (!added.empty()) largest_added_[f] = std::max(largest_added_[f], size_of_number(added[f]));
  }
}

void ExactRow::close(std::int64_t distances) {
  row_.value_distances = std::min(row_.keys, distances);
  row_.score_size = std::max(row_.score_size, 0x1p-60);
  double most = -infinity;
  for (const SeenKey& key : keys_) most = std::max(most, key.score);
  weights_.assign(keys_.size(), 0);
  out_.assign(features_, 0);
  log_sum_exp_ = most;
  if (most == -infinity) return;
  double sum = 0;
  for (const SeenKey& key : keys_) sum += std::exp(key.score - most);
  log_sum_exp_ = most + std::log(sum);
  for (std::size_t j = 0; j < keys_.size(); ++j) {
    weights_[j] = std::exp(keys_[j].score - most) / sum;
    if (keys_[j].score == -infinity) continue;  // the value is not even multiplied by 0
    for (std::size_t f = 0; f < features_; ++f) out_[f] += weights_[j] * values_[j * features_ + f];
  }
}

double ExactRow::size_of(std::size_t feature) const {
  return largest_[feature] + largest_added_[feature];
}

// False for NaN, too.
bool ExactRow::has_bounded_scores() const {
  return std::ranges::all_of(keys_, [](const SeenKey& key) {
    return (key.score == -infinity || std::abs(key.score) <= 0x1p60) && key.size <= 0x1p60 &&
           key.largest_factor <= 0x1p100;
  });
}

bool ExactRow::has_bounded_values() const {
  for (std::size_t f = 0; f < features_; ++f) {
    if (!is_bounded(size_of(f))) return false;
  }
  return true;
}

std::string ExactRow::fault(const ComputedRow& computed, const RowBounds& bounds) const {
  if (std::string wrong = out_fault(computed, bounds); !wrong.empty()) return wrong;
  if (computed.log_sum_exp) {
    const double bound = log_sum_exp_ == -infinity ? 0 : bounds.log_sum_exp(row_, log_sum_exp_);
    if (!is_within(*computed.log_sum_exp, log_sum_exp_, bound))
      return describe("log_sum_exp", *computed.log_sum_exp, log_sum_exp_, bound);
  }
  return computed.weights.empty() ? std::string() : weights_fault(computed);
}

std::string ExactRow::out_fault(const ComputedRow& computed, const RowBounds& bounds) const {
  const double units = log_sum_exp_ == -infinity ? 0 : bounds.out(row_);
  for (std::size_t f = 0; f < features_; ++f) {
    const double size = size_of(f);
    if (!is_bounded(size)) continue;
    const bool is_zero = size == 0 || log_sum_exp_ == -infinity;
    const double bound =
        is_zero ? 0 : stored_error_bound(computed.dtype, units, size) * 0x1p-24 * size;
    const bool may_overflow =
        computed.dtype == DType::f16 && size * (1 + units * 0x1p-24) >= f16_overflow;
    if (may_overflow || is_within(computed.out[f], out_[f], bound)) continue;
    return describe("an element", computed.out[f], out_[f], bound) + ", feature " +
           std::to_string(f) + ", sees " + std::to_string(row_.keys) + " keys";
  }
  return {};
}

// The weights of keys that the query does not see are 0. So is the difference of their sum from 1,
// within the bound, where each of them is right.
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
    return describe("a weight", weight, exact, bound * exact) + ", column " +
           std::to_string(column);
  }
  return {};
}

double bias_size(const RelativeBias& bias, const BiasIndex& at) {
  if (const auto* const alibi = std::get_if<Alibi>(&bias);
      alibi != nullptr && alibi->form == AlibiForm::key_position) {
    const auto slope =
        static_cast<double>(reference::alibi_slopes(*alibi)[static_cast<std::size_t>(at.head)]);
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
                   double rotation, const std::function<KeyScore(std::int64_t)>& score_of) {
  const reference::AttentionEncoding& encoding = of.attention.encoding;
  const auto head_of = [](const reference::Heads& heads, std::size_t first) {
    return std::span(heads.values).subspan(first, static_cast<std::size_t>(heads.extents.features));
  };
  const double scale = std::abs(of.attention.scale);
  const double unscaled_q = norm(head_of(of.turned_q, reference::query_offset(of, at)));
  const double q = scale * unscaled_q;
  const double plain_q = scale * norm(head_of(of.q, reference::query_offset(of, at)));
  ExactRow row(of.q.extents.features, rotation, of.v.extents.features);
  row.set_softcap(of.attention.softcap.value_or(0));
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

}  // namespace rotary::test
