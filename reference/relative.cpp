// SPDX-License-Identifier: Apache-2.0
#include "reference/relative.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>

#include "reference/angle.hpp"

namespace rotary::reference {
namespace {

long double real(std::int64_t value) { return static_cast<long double>(value); }

// In long double, since -2^63 has no magnitude in int64.
long double distance_of(const BiasIndex& at) { return std::abs(real(at.query) - real(at.key)); }

// ratio, ratio^2, …: the slopes of n heads if n is a power of two.
std::vector<long double> geometric(std::int64_t n, long double bias_max) {
  const long double ratio = std::pow(2.0L, -bias_max / real(n));
  std::vector<long double> slopes;
  long double slope = 1;
  for (std::int64_t i = 0; i < n; ++i) slopes.push_back(slope *= ratio);
  return slopes;
}

bool is_power_of_two(std::int64_t n) { return n == 1 || (n % 2 == 0 && is_power_of_two(n / 2)); }

void append_every_second(std::vector<long double>& to, const std::vector<long double>& from,
                         std::size_t offset) {
  for (std::size_t i = offset; i < from.size(); i += 2) to.push_back(from[i]);
}

std::vector<long double> press(std::int64_t n, long double bias_max) {
  if (is_power_of_two(n)) return geometric(n, bias_max);
  std::int64_t closest = n;
  while (!is_power_of_two(closest)) --closest;
  std::vector<long double> slopes = press(closest, bias_max);
  append_every_second(slopes, press(2 * closest, bias_max), 0);
  slopes.resize(static_cast<std::size_t>(n));
  return slopes;
}

long double element(const ConstTableView& table, std::int64_t row, std::int64_t column) {
  const std::int64_t index = row * table.row_stride + column * table.feature_stride;
  if (table.dtype == DType::f64) return static_cast<const double*>(table.data)[index];
  return static_cast<const float*>(table.data)[index];
}

struct At {
  BiasIndex index;

  Bias operator()(const T5Bias& bias) const {
    const Bucket bucket = reference::t5_bucket(index.key - index.query, bias.buckets);
    const long double value = element(bias.table, bucket.bucket, index.head);
    return {.value = value, .magnitude = std::abs(value)};
  }

  Bias operator()(const Alibi& alibi) const {
    const long double slope = reference::alibi_slopes(alibi)[static_cast<std::size_t>(index.head)];
    long double value = 0;
    switch (alibi.form) {
      case AlibiForm::causal:
        value = -slope * (real(index.query) - real(index.key));
        break;
      case AlibiForm::symmetric:
        value = -slope * distance_of(index);
        break;
      case AlibiForm::key_position:
        value = slope * real(index.key);
        break;
    }
    return {.value = value, .magnitude = std::abs(value)};
  }

  Bias operator()(const KerpleLog& kerple) const {
    const auto head = static_cast<std::size_t>(index.head);
    const long double value =
        -static_cast<long double>(kerple.p[head]) *
        std::log1p(static_cast<long double>(kerple.a[head]) * distance_of(index));
    return {.value = value, .magnitude = std::abs(value)};
  }

  Bias operator()(const KerplePower& kerple) const {
    const auto head = static_cast<std::size_t>(index.head);
    const long double distance = distance_of(index);
    if (distance == 0) return {};
    const long double value =
        -static_cast<long double>(kerple.a[head]) * std::exp(kerple.p[head] * std::log(distance));
    return {.value = value, .magnitude = std::abs(value)};
  }

  Bias operator()(const Fire& fire) const {
    const auto psi = [&](long double x) { return std::log1p(std::abs(fire.c * x)); };
    const long double reach =
        std::max(real(index.query), std::abs(static_cast<long double>(fire.threshold)));
    const long double x = psi(distance_of(index)) / (psi(reach) + fire.epsilon);
    const std::size_t width = fire.hidden_bias.size();
    const auto head = static_cast<std::size_t>(index.head);
    Bias bias{.value = fire.output_bias[head],
              .magnitude = std::abs(static_cast<long double>(fire.output_bias[head]))};
    for (std::size_t k = 0; k < width; ++k) {
      const long double weight = fire.output_weight[head * width + k];
      const long double unit = fire.hidden_weight[k] * x + fire.hidden_bias[k];
      bias.value += weight * std::max(unit, 0.0L);
      bias.magnitude +=
          std::abs(weight) * (std::abs(fire.hidden_weight[k] * x) +
                              std::abs(static_cast<long double>(fire.hidden_bias[k])));
    }
    return bias;
  }

  // A bump's exponent t has 4 roundings, which change e^-t by up to t times their size.
  Bias operator()(const Tisa& tisa) const {
    const auto kernels = static_cast<std::size_t>(tisa.kernels);
    const long double relative = real(index.key) - real(index.query);
    Bias bias;
    for (std::size_t s = static_cast<std::size_t>(index.head) * kernels, n = 0; n < kernels;
         ++s, ++n) {
      const long double from = relative - tisa.c[s];
      const long double t = std::abs(static_cast<long double>(tisa.b[s])) * from * from;
      bias.value += tisa.a[s] * std::exp(-t);
      bias.magnitude += std::abs(static_cast<long double>(tisa.a[s])) * std::exp(-t) * (1 + t);
    }
    return bias;
  }

  // Σ_k sin(i ω) sin(j ω) + cos(i ω) cos(j ω). The magnitude includes each angle, because an error
  // in a frequency's last bit grows with the distance.
  Bias operator()(const Sandwich& sandwich) const {
    const long double factor = real(sandwich.heads) / (8 * (real(index.head) + 1));
    long double sum = 0;
    long double frequencies = 0;
    for (std::int64_t k = 1; k <= sandwich.dim / 2; ++k) {
      const auto frequency = static_cast<double>(
          std::pow(static_cast<long double>(sandwich.base), -real(2 * k) / real(sandwich.dim)));
      const CosSin i = cos_sin(index.query, frequency);
      const CosSin j = cos_sin(index.key, frequency);
      sum += i.sin * j.sin + i.cos * j.cos;
      frequencies += frequency + 0x1p-16L;
    }
    return {.value = factor * (sum - real(sandwich.dim / 2)),
            .magnitude = factor * (real(sandwich.dim) + distance_of(index) * frequencies)};
  }
};

}  // namespace

// Wide bucket m + w begins at distance m (max/m)^(w / (n - m)).
Bucket t5_bucket(std::int64_t relative_position, const T5Buckets& spec) {
  const bool both = spec.direction == T5Direction::bidirectional;
  const std::int64_t n = both ? spec.buckets / 2 : spec.buckets;
  const std::int64_t m = n / 2;
  const long double relative = real(relative_position);
  const std::int64_t first = both && relative > 0 ? n : 0;
  const long double distance = both ? std::abs(relative) : std::max(-relative, 0.0L);
  if (distance < real(m)) return {.bucket = first + static_cast<std::int64_t>(distance)};
  Bucket found{.bucket = first + m};
  for (std::int64_t wide = 1; wide < n - m; ++wide) {
    const long double edge =
        real(m) * std::pow(real(spec.max_distance) / real(m), real(wide) / real(n - m));
    found.on_edge = found.on_edge || std::abs(distance - edge) < edge * 0x1p-18L;
    if (distance < edge) break;
    ++found.bucket;
  }
  return found;
}

std::vector<long double> alibi_slopes(const Alibi& alibi) {
  const auto first = alibi.first_head;
  if (!alibi.slopes.empty()) return {alibi.slopes.begin(), alibi.slopes.end()};
  const std::int64_t n = alibi.model_heads.value_or(alibi.heads);
  const auto all = press(n, alibi.bias_max);
  return {all.begin() + first, all.begin() + first + alibi.heads};
}

std::vector<long double> mpt_slopes(std::int64_t heads, long double bias_max) {
  std::int64_t above = heads;
  while (!is_power_of_two(above)) ++above;
  std::vector<long double> all = geometric(above, bias_max);
  if (above == heads) return all;
  std::vector<long double> slopes;
  append_every_second(slopes, all, 1);
  append_every_second(slopes, all, 0);
  slopes.resize(static_cast<std::size_t>(heads));
  return slopes;
}

Bias relative_bias(const RelativeBias& bias, const BiasIndex& at) {
  return std::visit(At{at}, bias);
}

std::int64_t shaw_row(const ShawWindow& window, const BiasIndex& at) {
  return window.left + std::max(-window.left, std::min(window.right, at.key - at.query));
}

namespace {

// Element [i][j] is the vector of query i and key j.
std::vector<Matrix> all_pairs(std::int64_t queries, std::int64_t keys, const ShawCase& shaw) {
  std::vector<Matrix> pairs;
  for (std::int64_t i = 0; i < queries; ++i) {
    pairs.emplace_back();
    for (std::int64_t j = 0; j < keys; ++j) {
      const BiasIndex at{.query = shaw.range.first_query + i, .key = shaw.range.first_key + j};
      pairs.back().push_back(shaw.table[static_cast<std::size_t>(shaw_row(shaw.window, at))]);
    }
  }
  return pairs;
}

}  // namespace

Matrix add_shaw_scores(const Matrix& q, std::int64_t keys, const ShawCase& shaw) {
  const auto pairs = all_pairs(static_cast<std::int64_t>(q.size()), keys, shaw);
  Matrix scores(q.size(), std::vector<long double>(static_cast<std::size_t>(keys)));
  for (std::size_t i = 0; i < q.size(); ++i) {
    for (std::size_t j = 0; j < scores[i].size(); ++j) {
      for (std::size_t f = 0; f < q[i].size(); ++f) scores[i][j] += q[i][f] * pairs[i][j][f];
    }
  }
  return scores;
}

Matrix add_shaw_values(const Matrix& weights, const ShawCase& shaw) {
  const auto keys = static_cast<std::int64_t>(weights.empty() ? 0 : weights.front().size());
  const auto pairs = all_pairs(static_cast<std::int64_t>(weights.size()), keys, shaw);
  Matrix out(weights.size(), std::vector<long double>(shaw.table.front().size()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights[i].size(); ++j) {
      for (std::size_t f = 0; f < out[i].size(); ++f) out[i][f] += weights[i][j] * pairs[i][j][f];
    }
  }
  return out;
}

Matrix cope_bias(const Matrix& scores, const Matrix& q, const Matrix& table,
                 const BiasRange& range) {
  Matrix bias = scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores[i].size(); ++j) {
      bias[i][j] = 0;
      long double position = 0;
      bool visible = false;
      for (std::size_t t = j; t < scores[i].size(); ++t) {
        if (range.first_key + static_cast<std::int64_t>(t) >
            range.first_query + static_cast<std::int64_t>(i))
          break;
        visible = true;
        position += 1 / (1 + std::exp(-scores[i][t]));
      }
      if (!visible) continue;
      position = std::min(position, real(static_cast<std::int64_t>(table.size()) - 1));
      // Interpolates: a table row weighs 1 at its own position and 0 at the neighbours'.
      for (std::size_t row = 0; row < table.size(); ++row) {
        const long double weight = 1 - std::abs(position - real(static_cast<std::int64_t>(row)));
        if (weight <= 0) continue;
        for (std::size_t f = 0; f < q[i].size(); ++f)
          bias[i][j] += weight * q[i][f] * table[row][f];
      }
    }
  }
  return bias;
}

}  // namespace rotary::reference
