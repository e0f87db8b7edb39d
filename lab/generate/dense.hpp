// SPDX-License-Identifier: Apache-2.0
// The weights of a trained decoder, by their names in its checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lab/data/batches.hpp"

namespace rotary::lab {

// Row-major: a Linear's weight is [outputs][inputs], an embedding [tokens][features].
using Weights = std::map<std::string, std::vector<float>>;

// The parts of a decoder beside attention, for one token at a time. Sums are double, and each
// number of a result is rounded to float once: at these sizes that costs nothing, and leaves
// attention as the only part whose rounding takes more than a line to bound.
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

// Choosing the next token from logits.

struct Sampling {
  double temperature = 1;  // logits are divided by it; 0: takes the largest
  std::int64_t top_k = 0;  // chooses among this many largest logits; 0: all
};

// Index of the token, chosen with its probability in the softmax of the logits. Among equal logits
// the first ranks first.
[[nodiscard]] std::int64_t choose(std::span<const float> logits, const Sampling& sampling,
                                  Random& random);

}  // namespace rotary::lab
