// SPDX-License-Identifier: Apache-2.0
// Decodes two sequences of different lengths against one paged KV cache, as a server does: grouped
// query heads, a block table per sequence, a slot per token, keys rotated when stored. Attention
// over each full sequence must give the same rows.
// Run: paged_decode
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

using rotary::AttentionOrder, rotary::AttentionSequence, rotary::DType, rotary::Extents;
using Numbers = std::vector<float>;
constexpr std::int64_t q_heads = 8, kv_heads = 2, head_dim = 64;
constexpr std::int64_t pages = 8, page_size = 4, pages_of_sequence = 3;
const double scale = 1 / std::sqrt(double{head_dim});

// The pages of each sequence; -1: none yet.
constexpr std::array<std::array<std::int32_t, pages_of_sequence>, 2> block_table = {
    {{6, 1, 3}, {4, 0, -1}}};

struct Token {
  std::size_t sequence;
  std::int64_t position;
  [[nodiscard]] std::int64_t slot() const {
    const auto page = static_cast<std::size_t>(position / page_size);
    return block_table.at(sequence).at(page) * page_size + position % page_size;
  }
};
using Tokens = std::vector<Token>;

// Ends the program if a call was refused.
template <class Outcome>
void require(const Outcome& outcome) {
  if (outcome) return;
  std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  std::exit(1);
}

// Random numbers in place of a layer's projection of these tokens: [tokens, heads, head_dim].
Numbers projected(unsigned matrix, const Tokens& tokens, std::int64_t heads) {
  Numbers numbers;
  for (const Token& token : tokens) {
    std::seed_seq seed = {std::size_t{matrix}, token.sequence, std::size_t(token.position)};
    std::mt19937 generator(seed);
    for (std::int64_t i = 0; i < heads * head_dim; ++i)
      numbers.push_back(static_cast<float>(generator() >> 16) / 32768 - 1);
  }
  return numbers;
}

rotary::HeadsView view(Numbers& numbers, std::int64_t heads) {
  const auto tokens = static_cast<std::int64_t>(numbers.size()) / (heads * head_dim);
  const Extents extents{.tokens = tokens, .heads = heads, .features = head_dim};
  return {numbers.data(), DType::f32, extents, strides_bthd(extents)};
}

rotary::Rotations rotations_of(const rotary::Frequencies& frequencies, const Tokens& tokens) {
  std::vector<std::int64_t> positions;
  for (const Token& token : tokens) positions.push_back(token.position);
  auto rotations = make_rotations(frequencies, rotary::positions_of(positions));
  require(rotations);
  return *std::move(rotations);
}

// Stores keys (rotated) and values of tokens from any sequences in one call.
void store(const rotary::KvCache& cache, const Tokens& tokens, const rotary::Rotations& rotations) {
  Numbers k = projected(1, tokens, kv_heads), v = projected(2, tokens, kv_heads);
  std::vector<std::int64_t> slots;
  for (const Token& token : tokens) slots.push_back(token.slot());
  require(append(cache, {.k = view(k, kv_heads), .v = view(v, kv_heads)}, rotary::slots_of(slots),
                 {.rotations = &rotations}));
}

// Decodes one token of each sequence: [sequences, q_heads, head_dim].
Numbers decode(const rotary::KvCache& cache, const Tokens& tokens,
               const rotary::Frequencies& frequencies) {
  const auto rotations = rotations_of(frequencies, tokens);  // once for all layers of the step
  store(cache, tokens, rotations);
  std::vector<AttentionSequence> sequences;
  for (const Token& token : tokens)
    sequences.push_back({.first_query = static_cast<std::int64_t>(sequences.size()),
                         .queries = 1,
                         .keys = token.position + 1,
                         .query_position = token.position});
  const rotary::PagedKeys keys{.k = cache.k,
                               .v = *cache.v,
                               .table = {.blocks = block_table[0].data(),
                                         .sequences = block_table.size(),
                                         .blocks_of_sequence = pages_of_sequence,
                                         .stride = pages_of_sequence}};
  Numbers q = projected(0, tokens, q_heads), out(q.size());
  require(attend(view(out, q_heads), view(q, q_heads), keys,
                 {.scale = scale,
                  .mask = {.order = AttentionOrder::causal},
                  .encoding = {.q_rotations = &rotations},  // cached keys are already rotated
                  .sequences = sequences}));
  return out;
}

// The last row of attention over the sequence up to `last`, without a cache.
Numbers prefill(const Token& last, const rotary::Frequencies& frequencies) {
  Tokens tokens;
  for (std::int64_t i = 0; i <= last.position; ++i) tokens.push_back({last.sequence, i});
  const auto rotations = rotations_of(frequencies, tokens);
  Numbers q = projected(0, tokens, q_heads), k = projected(1, tokens, kv_heads);
  Numbers v = projected(2, tokens, kv_heads), out(q.size());
  require(attend(view(out, q_heads), view(q, q_heads), view(k, kv_heads), view(v, kv_heads),
                 {.scale = scale,
                  .mask = {.order = AttentionOrder::causal},
                  .encoding = {.q_rotations = &rotations, .k_rotations = &rotations}}));
  return {out.end() - q_heads * head_dim, out.end()};
}

}  // namespace

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = head_dim, .base = 10000.0, .pairing = rotary::Pairing::half});
  require(frequencies);
  const Extents n{.batch = pages, .tokens = page_size, .heads = kv_heads, .features = head_dim};
  Numbers k(pages * page_size * kv_heads * head_dim), v(k.size());
  const rotary::KvCache cache{.k = {k.data(), DType::f32, n, strides_bthd(n)},
                              .v = {{v.data(), DType::f32, n, strides_bthd(n)}}};

  const Tokens prompts = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 0}, {1, 1}};
  store(cache, prompts, rotations_of(*frequencies, prompts));
  float farthest = 0;
  for (std::int64_t step = 0; step < 4; ++step) {
    const Tokens tokens = {{0, 5 + step}, {1, 2 + step}};
    const Numbers out = decode(cache, tokens, *frequencies);
    auto row = out.begin();
    std::printf("step %d", static_cast<int>(step));
    for (const Token& token : tokens) {
      std::printf(" | sequence %d, position %d, slot %2d: %7.4f", static_cast<int>(token.sequence),
                  static_cast<int>(token.position), static_cast<int>(token.slot()), double{*row});
      for (const float wanted : prefill(token, *frequencies))
        farthest = std::max(farthest, std::abs(*row++ - wanted));
    }
    std::printf("\n");
  }
  const bool same = farthest < 1e-6F;
  std::printf("%s\n", same ? "each row as in a prefill of its sequence" : "the cache is wrong");
  return same ? 0 : 1;
}
