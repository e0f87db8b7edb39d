// SPDX-License-Identifier: Apache-2.0
// FIRE: a small network maps the distance, relative to how far the query could look, to a bias. Li
// et al. 2024 (arXiv 2310.04418); DAPE, positional_embeddings.py.
#pragma once

#include <vector>

namespace rotary {

// With x = ln(|c (i - j)| + 1) / (ln(|c| max(i, |threshold|) + 1) + epsilon):
//   bias[head] = output_bias[head] + Σ_k output_weight[head][k] max(0, hidden_weight[k] x +
//                hidden_bias[k]).
// The normaliser holds the query's own position i, counted from the first token of the context:
// only while i and its shifted self are both at most |threshold| does a shift change nothing.
// Numbers from -2^256 to 2^256.
struct Fire {
  double c = 0.1;
  // L; in code that stores init_L and learns a multiplier of it, their product (DAPE stores half of
  // the init_L that it is given: 256).
  double threshold = 512;
  double epsilon = 1e-6;                   // in [2^-100, 1]
  std::vector<double> hidden_weight = {};  // [width]
  std::vector<double> hidden_bias = {};    // [width]
  std::vector<double> output_weight = {};  // [heads][width]
  std::vector<double> output_bias = {};    // [heads]

  friend bool operator==(const Fire&, const Fire&) = default;
};

}  // namespace rotary
