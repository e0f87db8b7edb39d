// SPDX-License-Identifier: Apache-2.0
// FIRE: a small network maps the distance, relative to how far the query could look, to a bias. Li
// et al. 2024 (arXiv 2310.04418); DAPE, positional_embeddings.py.
//
//   const Fire fire{.c = 0.1, .threshold = 512, .hidden_weight = w, .hidden_bias = b, …};
//   fill_bias(scores, fire, {});
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rotary/describe.hpp"

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

template <>
struct Describe<Fire> {
  static constexpr std::string_view name = "fire";
  static std::int64_t heads(const Fire& of) noexcept {
    return static_cast<std::int64_t>(of.output_bias.size());
  }
  static std::int64_t units(const Fire& of) noexcept {
    return static_cast<std::int64_t>(of.hidden_weight.size());
  }
  template <class Self, class Visit>
  static void parameters(Self& self, Visit visit) {
    visit(ParameterFacts{.name = "c", .meaning = "distances per unit of the logarithm"}, self.c);
    visit(ParameterFacts{.name = "threshold", .meaning = "L: the least reach of a query"},
          self.threshold);
    visit(ParameterFacts{.name = "epsilon",
                         .kind = ParameterKind::setting,
                         .bounds = {0x1p-100, 1, "from 2^-100 to 1"},
                         .meaning = "added to the divisor of x"},
          self.epsilon);
    visit(ParameterFacts{.name = "hidden_weight",
                         .shape = ParameterShape::units,
                         .meaning = "weights of the hidden layer"},
          self.hidden_weight);
    visit(ParameterFacts{.name = "hidden_bias",
                         .shape = ParameterShape::units,
                         .meaning = "biases of the hidden layer"},
          self.hidden_bias);
    visit(ParameterFacts{.name = "output_weight",
                         .shape = ParameterShape::heads_by_units,
                         .meaning = "weights from the hidden layer to each head"},
          self.output_weight);
    visit(ParameterFacts{.name = "output_bias",
                         .shape = ParameterShape::heads,
                         .meaning = "the bias of x = 0 without hidden units"},
          self.output_bias);
  }
};

}  // namespace rotary
