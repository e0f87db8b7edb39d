// SPDX-License-Identifier: Apache-2.0
// Rotates with the rows of another engine's cos/sin cache and shows the error of float32 angles.
// Run: other_engines_rows
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "rotary/rotary.hpp"

constexpr std::size_t tokens = 8, dim = 128, pairs = dim / 2;

int report(const rotary::Error& error) {
  return std::fprintf(stderr, "%s\n", error.message.c_str()), 1;
}

// Rows of a cache in vLLM's layout [max_position, dim], from row `first` on. A row has the cos of
// all pairs, then their sin. Angles are rounded to float32.
std::vector<float> cache_rows(std::size_t first) {
  std::vector<float> rows;
  for (std::size_t position = first; position < first + tokens; ++position)
    for (std::size_t i = 0; i < dim; ++i) {
      const auto pair = static_cast<float>(i % pairs);
      const float angle = static_cast<float>(position) * (1 / std::pow(10000.0F, 2 * pair / dim));
      rows.push_back(i < pairs ? std::cos(angle) : std::sin(angle));
    }
  return rows;
}

// <R(p) q, R(p + 7) k> for q = k = 1, which is the same for every p if the rows are right.
double score(const rotary::Rotations& rotations) {
  std::vector<float> q(tokens * dim, 1.0F);  // [1, tokens, 1 head, dim]
  const rotary::HeadsView view{q.data(), rotary::DType::f32, {1, tokens, 1, dim}, {0, dim, dim}};
  if (!rotate(view, view, rotations)) return std::nan("");
  return std::inner_product(q.begin(), q.begin() + dim, q.end() - dim, 0.0);
}

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = dim, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error());
  for (const int first : {0, 4000, 131064}) {
    const auto cache = cache_rows(static_cast<std::size_t>(first));
    rotary::CosSinView view{.cos = cache.data(), .sin = &cache[pairs], .dtype = rotary::DType::f32};
    view.tokens = tokens;
    view.token_stride = dim;
    const auto theirs = make_rotations(frequencies->window, view);
    if (!theirs) return report(theirs.error());
    const auto ours = make_rotations(*frequencies, rotary::ConsecutivePositions{first, tokens});
    if (!ours) return report(ours.error());

    float error = 0;
    for (std::size_t i = 0; i < pairs; ++i)
      error = std::max(error, std::abs(theirs->cos(0, 7)[i] - ours->cos(0, 7)[i]));
    std::printf("position %6d: cos off by up to %.4f; score over 7 tokens %.3f, exact rows %.3f\n",
                first + 7, double{error}, score(*theirs), score(*ours));
    if (!(error < 0.006F && std::abs(score(*ours) - 93.644) < 0.001)) return 1;
  }
}
