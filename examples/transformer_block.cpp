// SPDX-License-Identifier: Apache-2.0
// A transformer block generates tokens one by one: projections, grouped-query attention with rotary
// embedding, a KV cache. Running all tokens at once must give the same scores.
// Run: transformer_block
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

using rotary::DType;
using Numbers = std::vector<float>;
constexpr std::int64_t vocabulary = 40, width = 64, heads = 4, kv_heads = 2, head_dim = 16;

Numbers weights(std::int64_t rows, std::int64_t columns) {
  static std::mt19937 generator(7);
  Numbers w(static_cast<std::size_t>(rows * columns));
  for (float& x : w) x = (static_cast<float>(generator() >> 16) / 32768 - 1) / 4;
  return w;
}

// y = x W^T per token; w is [rows, columns].
Numbers project(const Numbers& x, const Numbers& w, std::size_t columns) {
  Numbers y;
  for (std::size_t token = 0; token < x.size(); token += columns) {
    for (std::size_t row = 0; row < w.size(); row += columns) {
      float sum = 0;
      for (std::size_t i = 0; i < columns; ++i) sum += w[row + i] * x[token + i];
      y.push_back(sum);
    }
  }
  return y;
}

void require(const rotary::Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

struct Block {
  Numbers embedding = weights(vocabulary, width), wq = weights(heads * head_dim, width),
          wk = weights(kv_heads * head_dim, width), wv = weights(kv_heads * head_dim, width),
          wo = weights(width, heads*head_dim), unembedding = weights(vocabulary, width);
  rotary::Frequencies frequencies = *rotary::make_frequencies(
      {.head_dim = head_dim, .base = 10000.0, .pairing = rotary::Pairing::half});
  Numbers cached_k = Numbers(32 * kv_heads * head_dim), cached_v = cached_k;  // 32 tokens

  // Scores for every possible next token. `tokens` are at positions past, past + 1, ...
  Numbers run(const std::vector<int>& tokens, std::int64_t past) {
    Numbers x;
    for (const int token : tokens)
      x.insert(x.end(), embedding.begin() + token * width, embedding.begin() + (token + 1) * width);
    Numbers q = project(x, wq, width);
    Numbers k = project(x, wk, width);
    Numbers v = project(x, wv, width);
    const auto count = static_cast<std::int64_t>(tokens.size());
    const rotary::Extents n{.tokens = count, .heads = heads, .features = head_dim};
    const rotary::Extents kv{.tokens = count, .heads = kv_heads, .features = head_dim};
    const rotary::Extents all{.tokens = past + count, .heads = kv_heads, .features = head_dim};
    const rotary::HeadsView keys{cached_k.data(), DType::f32, all, strides_bthd(all)};
    const rotary::HeadsView values{cached_v.data(), DType::f32, all, strides_bthd(all)};
    const auto rotations =
        *make_rotations(frequencies, rotary::ConsecutivePositions{.first = past, .tokens = count});
    require(append({.k = keys, .v = values},
                   {.k = {k.data(), DType::f32, kv, strides_bthd(kv)},
                    .v = {{v.data(), DType::f32, kv, strides_bthd(kv)}}},
                   rotary::ConsecutiveSlots{.first = past}, {.rotations = &rotations}));
    Numbers mixed(q.size());
    require(attend({mixed.data(), DType::f32, n, strides_bthd(n)},
                   {q.data(), DType::f32, n, strides_bthd(n)}, keys, values,
                   {.scale = 1 / std::sqrt(double{head_dim}),
                    .mask = {.order = rotary::AttentionOrder::causal},
                    .encoding = {.q_rotations = &rotations}}));
    Numbers y = project(mixed, wo, heads * head_dim);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
    return project({y.end() - width, y.end()}, unembedding, width);
  }
};

}  // namespace

int main() {
  Block step_by_step;
  Block at_once = step_by_step;
  std::vector<int> text = {3, 1, 4, 1, 5};
  Numbers scores = step_by_step.run(text, 0);
  double farthest = 0;
  while (text.size() < 20) {
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    text.push_back(static_cast<int>(best));
    scores = step_by_step.run({text.back()}, static_cast<std::int64_t>(text.size()) - 1);
    const Numbers wanted = at_once.run(text, 0);
    for (std::size_t i = 0; i < scores.size(); ++i)
      farthest = std::max(farthest, std::abs(double{scores[i]} - double{wanted[i]}));
  }
  for (const int token : text) std::printf(" %d", token);
  std::printf("\n%s\n", farthest < 1e-5 ? "step by step as at once" : "the cache is wrong");
}
