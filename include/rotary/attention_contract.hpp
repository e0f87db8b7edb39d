// SPDX-License-Identifier: Apache-2.0
// The error bounds of attention, a part of numeric_contract.hpp.
//
//   attend_error_bound({.head_dim = 128, .keys = 4096, .score_size = 10});
#ifndef ROTARY_ATTENTION_CONTRACT_HPP
#define ROTARY_ATTENTION_CONTRACT_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "rotary/tensor_view.hpp"

namespace rotary {

// The quantities that the error of attend() depends on, for one query of one head.
struct AttendedRow {
  std::int64_t head_dim = 0;
  std::int64_t keys = 0;  // number that the query sees; the bound is useful up to about 2^22
  // The largest |scale * factor| * |q| * (|k| + |a|) + |bias| + |number of the additive mask| of a
  // visible key. |q|, |k| and |a| (shaw_keys) are Euclidean norms after rotation. |bias| is the sum
  // of magnitudes of its formula's terms (key_position: |slope| * (|key| + |query|)).
  double score_size = 0;
  // rotate_error_bound of the query plus that of the keys, if attend() rotates them; else 0.
  double rotation = 0;
  // The part of score_size that shaw_keys add: the largest |scale * factor| * |q| * |a|; 0 without.
  double distance_size = 0;
  // Number of vectors of shaw_values in use, at most `keys`; 0 without shaw_values.
  std::int64_t value_distances = 0;
  // The part of score_size that the additive mask adds: the largest |number|; 0 without a mask.
  double mask_size = 0;
  double softcap = 0;  // 0: none
  // True if keys and values are in 8 bits; exact k and v are then scale * element. The scales add a
  // rounding to each score (or key) and to each value.
  bool quantized = false;
};

// Error of a score. Units of 2^-24 * score_size: 2 for the query, 1 for the bias, 1 for each
// feature, 1 for the sum with the bias, 3 for the difference from the running maximum, those of the
// rotations, and 1 for keys in 8 bits. shaw_keys add 1 unit of distance_size for each feature. A
// softcap adds 12 units of the capped score: 4 roundings, and a tanh with an error of 4 ulp. A mask
// adds 2 units of its number and 1 of the sum. Requires score_size in [2^-60, 2^60]. Norms, and |q|
// times the scale, must be at most 2^100.
[[nodiscard]] inline double attend_score_error(const AttendedRow& row) noexcept {
  const auto features = static_cast<double>(row.head_dim);
  const double scales = row.quantized ? 1 : 0;
  const double units = features + 8 + scales + std::numbers::sqrt2 * row.rotation;
  const double cap = 12 * std::fmin(row.score_size, row.softcap);
  const double mask = row.mask_size == 0 ? 0 : row.score_size + 2 * row.mask_size;
  return (units * row.score_size + features * row.distance_size + cap + mask) * 0x1p-24 *
         (1 + 0x1p-8);
}

// The most times that a row's sums are rescaled to a new maximum: once for each tile of at least 64
// keys and each partial result of at least 128 keys. Sinks and windows add tiles.
[[nodiscard]] inline double attend_rescalings(const AttendedRow& row) noexcept {
  const std::int64_t rescalings = row.keys / 32 + 4;
  return static_cast<double>(rescalings);
}

// Error of the sums of weights and of weighted values (shaw_values included) and of their quotient,
// relative to the sum of magnitudes. Infinite if no bound holds.
[[nodiscard]] inline double attend_sums_error(const AttendedRow& row) noexcept {
  const double rescalings = attend_rescalings(row);
  const auto keys = static_cast<double>(row.keys);
  const double scales = row.quantized ? 1 : 0;
  double roundings = keys + std::fmin(keys, 136) + 3 * rescalings + 2 + scales;
  if (row.value_distances > 0) {
    const auto distances = static_cast<double>(row.value_distances);
    roundings += distances + std::fmin(keys, 512) + 3 * rescalings + 33;
  }
  const double sums = roundings * 0x1p-24;
  return sums < 0.5 ? sums / (1 - sums) : std::numeric_limits<double>::infinity();
}

// |float32 element of attend() - exact| in units of 2^-24 * size. size of a feature: the largest
// |element of v| plus the largest |element of shaw_values| over the keys that the query sees; 0 or
// in [2^-80, 2^80]. For out in bf16 or f16 apply stored_error_bound. docs/numeric-contract.md
// derives the bound.
[[nodiscard]] inline double attend_error_bound(const AttendedRow& row) noexcept {
  const double rescalings = attend_rescalings(row);
  const double exponent = attend_score_error(row) + 2.25 * (rescalings + 1) * 0x1p-24;
  const double weights = std::fmin(std::expm1(exponent) * std::exp(exponent), 2);
  return (weights + attend_sums_error(row)) * 0x1p24;
}

// Relative error of AttendOptions::weights; small weights lose up to 2^-125 more. Also bounds |sum
// of the weights - 1| for a query that sees a key.
[[nodiscard]] inline double attend_weight_error_bound(const AttendedRow& row) noexcept {
  const double rescalings = attend_rescalings(row);
  const double exponent = 2 * attend_score_error(row) + 2.25 * (rescalings + 2) * 0x1p-24;
  const double sum = (std::fmin(static_cast<double>(row.keys), 136) + 2 * rescalings + 2) * 0x1p-24;
  return std::expm1(exponent) + std::exp(exponent) * sum / (1 - sum);
}

// |log_sum_exp of attend() - exact| for a query that sees a key.
[[nodiscard]] inline double attend_log_sum_exp_error_bound(const AttendedRow& row,
                                                           double log_sum_exp) noexcept {
  const auto keys = static_cast<double>(row.keys);
  const double rescalings = attend_rescalings(row);
  const double sum = (std::fmin(keys, 136) + 5 * rescalings + 5) * 0x1p-24;
  const double before = attend_score_error(row) + sum / (1 - sum);
  return before + 0x1p-24 * (std::abs(log_sum_exp) + before);
}

// The quantities that the error of linear_attend() depends on. Errors are relative to a feature (or
// its pair), in units of u = 2^-24, or 2^-53 for f64.
struct LinearErrors {
  DType dtype = {};
  std::int64_t features = 0;
  std::int64_t tokens = 0;    // most keys that a query sees, at most 2^24
  double feature_errors = 0;  // the error of a feature of q plus that of a feature of k
  double turn_errors = 0;     // rotate_error_bound of q plus that of k; 0 without rotation
};

// The error of a feature elu(x) + 1.
inline constexpr double elu_feature_error = 3;

// The error of a feature e^exponent, whose exponent is at most 88 (double: 709) after reduction.
// PositiveRandomFeatures: summands = head_dim, size = the largest Σ |w_d y_d| + |y|² of a token.
// SoftmaxExp: summands = 0, size = the largest |x|.
[[nodiscard]] inline double exponential_feature_error(DType dtype, std::int64_t summands,
                                                      double size) noexcept {
  const double left = dtype == DType::f64 ? 709 : 88;
  return 3 + left + (static_cast<double>(summands) + 5) * size;
}

// |element of linear_attend - exact| before it is stored as bf16 or f16 (stored_error_bound), in
// units of u * Σ_j |w_j| |v_j| / denominator. |w_j| = Σ |φ(q)_r| |ϕ(k_j)_r|, where a rotated pair
// adds the product of its two hypots. docs/numeric-contract.md derives the bound.
[[nodiscard]] inline double linear_attention_error_bound(const LinearErrors& of) noexcept {
  const bool wide = of.dtype == DType::f64;
  const double sums = wide ? 4 * static_cast<double>(of.tokens) : 1;
  const double roundings = 2 * static_cast<double>(of.features) + 135 + 2 * sums +
                           2 * of.feature_errors + std::numbers::sqrt2 * of.turn_errors;
  const double relative = roundings * (wide ? 0x1p-53 : 0x1p-24);
  return relative < 1 ? roundings / (1 - relative) : std::numeric_limits<double>::infinity();
}

// Error from underflow of features and of products of two features, relative to the largest |v|.
// Add it to the bound above. largest: the largest feature; 1 for exponentials. epsilon: the call's,
// or another positive lower bound of the denominator, without which there is no bound.
[[nodiscard]] inline double linear_attention_underflow(const LinearErrors& of, double largest,
                                                       double epsilon) noexcept {
  const double lost = of.dtype == DType::f64 ? 0x1p-1008 : 0x1p-112;  // e^8 times 2^-126
  return static_cast<double>(of.features) * static_cast<double>(of.tokens) * largest * lost /
         epsilon;
}

// Absolute error from underflow of products with values; add it, too. largest, epsilon: as above.
[[nodiscard]] inline double linear_attention_value_underflow(const LinearErrors& of, double largest,
                                                             double epsilon) noexcept {
  const double smallest = of.dtype == DType::f64 ? 0x1p-1074 : 0x1p-149;
  const double products = static_cast<double>(of.features) * static_cast<double>(of.tokens + 2);
  return products * std::max(largest, 1.0) * smallest / epsilon;
}

// attend_error_bound for attend_mapped(). parts: number of merged attentions. row: all keys.
[[nodiscard]] inline double attend_mapped_error_bound(const AttendedRow& row,
                                                      std::int64_t parts) noexcept {
  const double largest = row.score_size + std::log(static_cast<double>(row.keys) + 1);
  const double exponent = 2 * attend_log_sum_exp_error_bound(row, largest);
  return std::exp(exponent) * attend_error_bound(row) + std::expm1(exponent) * 0x1p24 +
         3 * static_cast<double>(parts);
}

// attend_log_sum_exp_error_bound for attend_mapped().
[[nodiscard]] inline double attend_mapped_log_sum_exp_error_bound(const AttendedRow& row,
                                                                  double log_sum_exp) noexcept {
  const double largest = row.score_size + std::log(static_cast<double>(row.keys) + 1);
  return attend_log_sum_exp_error_bound(row, largest) + 0x1p-24 * std::abs(log_sum_exp);
}

}  // namespace rotary

#endif  // ROTARY_ATTENTION_CONTRACT_HPP
