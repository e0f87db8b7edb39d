// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/cell_size.hpp"

namespace rotary::lab {
namespace {

struct Sizes {
  double d, layers, heads, tokens, tokens_of_step, vocabulary;
};

Sizes sizes_of(const Cell& cell) noexcept {
  const ModelConfig& model = cell.model;
  return {.d = static_cast<double>(model.d_model),
          .layers = static_cast<double>(model.layers),
          .heads = static_cast<double>(model.heads),
          .tokens = static_cast<double>(model.tokens),
          .tokens_of_step =
              static_cast<double>(sequences_of(model.task) * model.tokens * cell.training.batch),
          .vocabulary = static_cast<double>(model.vocabulary())};
}

// Weights of a layer: q, k, v, the projection that joins the heads, and a feed-forward of four
// times the width.
double matrix_numbers(const Sizes& sizes) noexcept { return 12 * sizes.d * sizes.d; }

}  // namespace

double flops_of_step(const Cell& cell) noexcept {
  const Sizes sizes = sizes_of(cell);
  // Scores and sums of values, every key for every query: masks do not save work here.
  const double attention = 4 * sizes.tokens * sizes.d;
  const double of_token =
      sizes.layers * (2 * matrix_numbers(sizes) + attention) + 2 * sizes.d * sizes.vocabulary;
  return 3 * of_token * sizes.tokens_of_step;
}

double bytes_of_training(const Cell& cell) noexcept {
  const Sizes sizes = sizes_of(cell);
  const double numbers = sizes.layers * matrix_numbers(sizes) + 2 * sizes.d * sizes.vocabulary;
  // Norms, q, k and v before and after they turn, what attention and feed-forward make: some 21
  // rows of a token; scores, weights and a mask added to them: 3 numbers of a head and key.
  const double kept =
      sizes.layers * (21 * sizes.d + 3 * sizes.heads * sizes.tokens) + 3 * sizes.vocabulary;
  constexpr double bytes_of_number = 4;
  return bytes_of_number * (4 * numbers + kept * sizes.tokens_of_step);
}

}  // namespace rotary::lab
