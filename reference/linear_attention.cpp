// SPDX-License-Identifier: Apache-2.0
#include "reference/linear_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

using Vector = std::vector<long double>;

Vector features_of(std::span<const long double> x, const EluPlusOne&, Side) {
  Vector features;
  for (const long double each : x) features.push_back(each > 0 ? each + 1 : std::exp(each));
  return features;
}

Vector features_of(std::span<const long double> x, const SoftmaxExp&, Side side) {
  Vector features;
  long double sum = 0;
  for (const long double each : x) {
    features.push_back(std::exp(each));
    sum += features.back();
  }
  if (side == Side::query) {
    for (long double& each : features) each /= sum;
  }
  return features;
}

Vector features_of(std::span<const long double> x, const PositiveRandomFeatures& random, Side) {
  const std::size_t count = random.directions.size() / x.size();
  const long double root = std::sqrt(static_cast<long double>(random.softmax_scale));
  Vector features;
  for (std::size_t r = 0; r < count; ++r) {
    long double exponent = 0;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const long double y = root * x[d];
      exponent += y * (random.directions[d * count + r] - y / 2);
    }
    features.push_back(std::exp(exponent));
  }
  return features;
}

long double inner(const Vector& a, const Vector& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

long double largest(const Vector& features) {
  return features.empty() ? 0 : *std::max_element(features.begin(), features.end());
}

}  // namespace

MappedVector map_features(std::span<const long double> x, const FeatureMap& map, Side side) {
  MappedVector vector;
  vector.features = std::visit([&](const auto& each) { return features_of(x, each, side); }, map);
  vector.turned = vector.features;
  vector.sizes = vector.features;
  return vector;
}

void turn_features(MappedVector& vector, const HeadWindow& window, std::span<const CosSin> angles) {
  vector.turned = rotate_by_elements(vector.features, window, {.angles = angles});
  std::vector<bool> turns(vector.features.size(), false);
  vector.sizes.clear();
  const bool neighbours = reads_neighbours(window.pairing);
  const std::int64_t of_block = window.pairs() / window.blocks;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    const std::int64_t first =
        window.first_feature + (neighbours ? 2 * i : i + i / of_block * of_block);
    const std::int64_t second = neighbours ? first + 1 : first + of_block;
    const auto x = static_cast<std::size_t>(first);
    const auto y = static_cast<std::size_t>(second);
    vector.sizes.push_back(std::hypot(vector.features[x], vector.features[y]));
    turns[x] = turns[y] = true;
  }
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (!turns[i]) vector.sizes.push_back(vector.features[i]);
  }
}

LinearRow linear_row(const MappedVector& query, std::span<const KeyValue> keys,
                     const FeatureMap& map, long double epsilon, std::size_t v_features) {
  LinearRow row{.out = Vector(v_features), .size = Vector(v_features), .weights = {}};
  long double denominator = 0;
  long double most = 0;  // the largest feature of any key
  for (const KeyValue& each : keys) {
    denominator += inner(query.features, each.key.features);
    most = std::max(most, largest(each.key.features));
  }
  const bool exponentials = !std::holds_alternative<EluPlusOne>(map);
  denominator += exponentials ? epsilon * largest(query.features) * most : epsilon;
  if (denominator == 0) return row;
  for (const KeyValue& each : keys) {
    const long double weight = inner(query.turned, each.key.turned) / denominator;
    const long double size = inner(query.sizes, each.key.sizes) / denominator;
    row.weights.push_back(weight);
    for (std::size_t c = 0; c < v_features; ++c) {
      row.out[c] += weight * each.value[c];
      row.size[c] += size * std::abs(each.value[c]);
    }
  }
  return row;
}

}  // namespace rotary::reference
