// SPDX-License-Identifier: Apache-2.0
// A trained decoder's weights, by their checkpoint names.
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

// y = W x + b for one token. Sums are double; results are rounded to float once. Double costs
// nothing at these sizes, and keeps the error bound of all but attention short.
class Linear {
 public:
  // weight [outputs][inputs], bias [outputs].
  Linear(std::span<const float> weight, std::span<const float> bias);

  // x [inputs], y [outputs].
  void apply(std::span<float> y, std::span<const float> x) const;
  [[nodiscard]] std::int64_t outputs() const noexcept { return std::ssize(bias_); }

 private:
  std::vector<float> columns_;  // [inputs][outputs], so that additions run over adjacent memory
  std::vector<double> bias_;
};

// Normalises to mean 0 and variance 1 (plus epsilon), multiplies by weight and adds bias.
class LayerNorm {
 public:
  LayerNorm(std::span<const float> weight, std::span<const float> bias);
  void apply(std::span<float> y, std::span<const float> x) const;

 private:
  std::vector<float> weight_, bias_;
};

// x Φ(x) in place, the form with erf.
void gelu(std::span<float> x);

// Choosing the next token from logits.

struct Sampling {
  double temperature = 1;  // divides logits; 0: takes the largest
  std::int64_t top_k = 0;  // chooses among this many largest; 0: all
};

// A token's index, drawn by the softmax of the logits. Among equal logits the first ranks higher.
[[nodiscard]] std::int64_t choose(std::span<const float> logits, const Sampling& sampling,
                                  Random& random);

}  // namespace rotary::lab
