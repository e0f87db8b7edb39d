// SPDX-License-Identifier: Apache-2.0
// The parts of a decoder beside attention, for one token at a time. Sums are double, and each
// number of a result is rounded to float once: at these sizes that costs nothing, and leaves
// attention as the only part whose rounding takes more than a line to bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rotary::lab {

// y = W x + b
class Linear {
 public:
  // weight [outputs][inputs], bias [outputs].
  Linear(std::span<const float> weight, std::span<const float> bias);

  // x [inputs], y [outputs].
  void apply(std::span<float> y, std::span<const float> x) const;
  [[nodiscard]] std::int64_t outputs() const noexcept { return std::ssize(bias_); }

 private:
  std::vector<float> columns_;  // [inputs][outputs]: neighbours in memory are added at once
  std::vector<double> bias_;
};

// Normalises to mean 0 and variance 1, then multiplies by weight and adds bias; epsilon is added to
// the variance.
class LayerNorm {
 public:
  LayerNorm(std::span<const float> weight, std::span<const float> bias);
  void apply(std::span<float> y, std::span<const float> x) const;

 private:
  std::vector<float> weight_, bias_;
};

// In place, x Φ(x), the form with erf.
void gelu(std::span<float> x);

}  // namespace rotary::lab
