// SPDX-License-Identifier: Apache-2.0
#include "support/attention/linear_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <variant>

#include "rotary/numeric_contract.hpp"

namespace rotary::test {

double exponent_size(const FeatureMap& map, std::span<const long double> x) {
  long double most = 0;
  const auto* const random = std::get_if<PositiveRandomFeatures>(&map);
  if (random == nullptr) {
    for (const long double each : x) most = std::max(most, std::abs(each));
    return static_cast<double>(most);
  }
  const std::size_t count = random->directions.size() / x.size();
  const long double root = std::sqrt(static_cast<long double>(random->softmax_scale));
  for (std::size_t r = 0; r < count; ++r) {
    long double size = 0;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const long double y = root * std::abs(x[d]);
      size += y * (std::abs(random->directions[d * count + r]) + y);
    }
    most = std::max(most, size);
  }
  return static_cast<double>(most);
}

LinearToken linear_token(std::span<const long double> x, const FeatureMap& map,
                         reference::Side side, DType dtype) {
  LinearToken token{.vector = reference::map_features(x, map, side)};
  if (!std::holds_alternative<EluPlusOne>(map)) {
    const bool random = std::holds_alternative<PositiveRandomFeatures>(map);
    const auto features = random ? static_cast<std::int64_t>(x.size()) : 0;
    token.feature_error = exponential_feature_error(dtype, features, exponent_size(map, x));
    return token;
  }
  token.feature_error = elu_feature_error;
  for (const long double each : token.vector.features)
    token.largest = std::max(token.largest, static_cast<double>(each));
  return token;
}

std::string linear_fault(std::span<const double> computed, const LinearToken& query,
                         const std::vector<LinearKey>& seen, const LinearRule& rule) {
  std::vector<reference::KeyValue> keys;
  LinearErrors errors{.dtype = rule.dtype,
                      .features = static_cast<std::int64_t>(query.vector.features.size()),
                      .tokens = static_cast<std::int64_t>(seen.size()),
                      .turn_errors = rule.turn_errors};
  double largest_key = 1;
  double largest_value = 0;
  for (const LinearKey& key : seen) {
    keys.push_back({key.token.vector, key.value});
    errors.feature_errors = std::max(errors.feature_errors, key.token.feature_error);
    largest_key = std::max(largest_key, key.token.largest);
    for (const long double each : key.value)
      largest_value = std::max(largest_value, std::abs(static_cast<double>(each)));
  }
  errors.feature_errors += query.feature_error;
  const auto exact =
      reference::linear_row(query.vector, keys, rule.map, rule.epsilon, computed.size());
  const double units = linear_attention_error_bound(errors);
  const double largest = query.largest * largest_key;
  const double lost =
      largest_value == 0
          ? 0
          : largest_value * linear_attention_underflow(errors, largest, rule.epsilon) +
                linear_attention_value_underflow(errors, largest, rule.epsilon);
  for (std::size_t c = 0; c < computed.size(); ++c) {
    const auto whole = static_cast<double>(exact.size[c]);
    const double within = whole == 0 ? 0
                          : rule.dtype == DType::f64
                              ? units * 0x1p-53 * whole
                              : stored_error_bound(rule.dtype, units, whole) * 0x1p-24 * whole;
    const double bound = within + lost;
    const auto wanted = static_cast<double>(exact.out[c]);
    if (!std::isfinite(bound) || std::abs(computed[c] - exact.out[c]) <= bound) continue;
    const bool overflows = rule.dtype == DType::f16 && std::isinf(computed[c]) &&
                           std::abs(wanted) + bound >= f16_overflow;
    if (overflows) continue;
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(), "feature %zu: %.9g where %.9g is right within %.9g", c,
                  computed[c], wanted, bound);
    return text.data();
  }
  return {};
}

}  // namespace rotary::test
