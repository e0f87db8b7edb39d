// SPDX-License-Identifier: Apache-2.0

#include "lab/generate/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

namespace rotary::lab {

namespace {

// torch's epsilon, used in training.
constexpr double norm_epsilon = 1e-5;

}  // namespace

Linear::Linear(std::span<const float> weight, std::span<const float> bias)
    : columns_(weight.size()), bias_(bias.begin(), bias.end()) {
  const std::size_t outputs = bias.size();
  const std::size_t inputs = weight.size() / outputs;
  for (std::size_t output = 0; output < outputs; ++output) {
    for (std::size_t input = 0; input < inputs; ++input)
      columns_[input * outputs + output] = weight[output * inputs + input];
  }
}

void Linear::apply(std::span<float> y, std::span<const float> x) const {
  std::vector<double> sums = bias_;
  const float* column = columns_.data();
  for (const float number : x) {
    const double factor = number;
    for (std::size_t output = 0; output < sums.size(); ++output)
      sums[output] += factor * static_cast<double>(column[output]);
    column += sums.size();
  }
  std::ranges::transform(sums, y.begin(), [](double sum) { return static_cast<float>(sum); });
}

LayerNorm::LayerNorm(std::span<const float> weight, std::span<const float> bias)
    : weight_(weight.begin(), weight.end()), bias_(bias.begin(), bias.end()) {}

void LayerNorm::apply(std::span<float> y, std::span<const float> x) const {
  const auto features = static_cast<double>(x.size());
  double mean = 0;
  for (const float number : x) mean += number / features;
  double variance = 0;
  for (const float number : x) variance += (number - mean) * (number - mean) / features;
  const double scale = 1 / std::sqrt(variance + norm_epsilon);
  for (std::size_t n = 0; n < x.size(); ++n)
    y[n] = static_cast<float>((x[n] - mean) * scale * weight_[n] + bias_[n]);
}

void gelu(std::span<float> x) {
  for (float& number : x) {
    const double wide = number;
    number = static_cast<float>(wide * 0.5 * std::erfc(-wide / std::numbers::sqrt2));
  }
}

std::int64_t choose(std::span<const float> logits, const Sampling& sampling, Random& random) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int64_t index) { return logits[static_cast<std::size_t>(index)]; };
  std::ranges::stable_sort(order, std::greater(), logit);
  if (sampling.temperature == 0) return order.front();
  if (sampling.top_k > 0 && sampling.top_k < std::ssize(order))
    order.resize(static_cast<std::size_t>(sampling.top_k));
  std::vector<double> weights;
  for (const std::int64_t index : order) {
    const double below = static_cast<double>(logit(index)) - logit(order.front());
    weights.push_back(std::exp(below / sampling.temperature));
  }
  double rest = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    rest -= weights[n];
    if (rest < 0) return order[n];
  }
  return order.front();  // if rounding left a remainder
}

}  // namespace rotary::lab
