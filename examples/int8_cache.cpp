// SPDX-License-Identifier: Apache-2.0
// An 8-bit KV cache. append() rotates a prompt's keys and quantizes its keys and values. attend()
// reads them directly. Compares with attention over an f32 cache of the same tokens.
// Run: int8_cache
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

using rotary::DType, rotary::Extents;
constexpr std::int64_t tokens = 100, q_heads = 8, kv_heads = 2, head_dim = 64;

// Ends the program if a call was refused.
template <class Outcome>
void require(const Outcome& outcome) {
  if (outcome) return;
  std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  std::exit(1);
}

// Random numbers in place of a layer's projections: [tokens, heads, head_dim].
std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> made(static_cast<std::size_t>(count));
  for (float& each : made) each = static_cast<float>(generator() >> 16) / 32768 - 1;
  return made;
}

rotary::HeadsView view(std::vector<float>& of, std::int64_t heads) {
  const auto count = static_cast<std::int64_t>(of.size()) / (heads * head_dim);
  const Extents n{.tokens = count, .heads = heads, .features = head_dim};
  return {of.data(), DType::f32, n, strides_bthd(n)};
}

// [heads, tokens, head_dim], with a scale for each head and token.
struct Int8Heads {
  Extents n{.tokens = tokens, .heads = kv_heads, .features = head_dim};
  std::vector<std::int8_t> elements = std::vector<std::int8_t>(tokens * kv_heads * head_dim);
  std::vector<float> scales = std::vector<float>(tokens * kv_heads);

  rotary::QuantizedHeadsView view() {
    return {elements.data(), scales.data(), n, strides_bhtd(n), scale_strides_bhtd(n)};
  }
};

}  // namespace

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = head_dim, .base = 10000.0, .pairing = rotary::Pairing::half});
  require(frequencies);
  const auto of_keys = make_rotations(*frequencies, rotary::ConsecutivePositions{.tokens = tokens});
  const auto of_query =
      make_rotations(*frequencies, rotary::ConsecutivePositions{.first = tokens - 1, .tokens = 1});
  require(of_keys);
  require(of_query);

  auto k = numbers(tokens * kv_heads * head_dim, 1), v = numbers(tokens * kv_heads * head_dim, 2);
  const rotary::KvHeads heads{.k = view(k, kv_heads), .v = view(v, kv_heads)};
  Int8Heads k8, v8;
  require(append(rotary::QuantizedKvCache{.k = k8.view(), .v = v8.view()}, heads,
                 rotary::ConsecutiveSlots{}, {.rotations = &*of_keys}));

  auto q = numbers(q_heads * head_dim, 3);
  std::vector<float> out(q.size()), wanted(q.size());
  const rotary::AttendOptions options{.scale = 1 / std::sqrt(double{head_dim}),
                                      .mask = {.order = rotary::AttentionOrder::causal},
                                      .encoding = {.q_rotations = &*of_query}};
  require(attend(view(out, q_heads), view(q, q_heads),
                 rotary::QuantizedKeys{.k = k8.view(), .v = v8.view()}, options));

  std::vector<float> k32(k.size()), v32(v.size());
  const rotary::KvCache cache{.k = view(k32, kv_heads), .v = view(v32, kv_heads)};
  require(append(cache, heads, rotary::ConsecutiveSlots{}, {.rotations = &*of_keys}));
  require(attend(view(wanted, q_heads), view(q, q_heads), cache.k, *cache.v, options));

  float off = 0, most = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    off = std::max(off, std::abs(out[i] - wanted[i]));
    most = std::max(most, std::abs(wanted[i]));
  }
  const std::size_t bytes = k8.elements.size() + 4 * k8.scales.size();
  std::printf("keys take %zu bytes, in f32 %zu\n", bytes, 4 * k.size());
  std::printf("largest error against f32: %.4f; largest number: %.4f\n", double{off}, double{most});
  return off < 0.01F * most ? 0 : 1;
}
