// SPDX-License-Identifier: Apache-2.0
// Pairs of sentences and translations. A data set's text has a line per pair: sentence, tab,
// translation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/data/pieces.hpp"

namespace rotary::lab {

struct Pair {
  std::string_view source;
  std::string_view target;
};

// The pairs of a text in the form above. The text must outlive the pairs.
[[nodiscard]] std::vector<Pair> pairs_of(std::string_view text);

// A pair of texts as tokens, without beginning and end.
struct TokenPair {
  Pair text;
  std::vector<std::int64_t> source = {};
  std::vector<std::int64_t> target = {};
};

// The pairs in which each side, with its end, has at most `tokens` tokens. The text must outlive
// them.
[[nodiscard]] std::vector<TokenPair> tokenize_pairs(std::string_view text, const Pieces& pieces,
                                                    std::int64_t tokens);

struct PairBatch {
  std::int64_t rows = 0;
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;
  std::vector<std::int64_t> sources = {};  // [rows][source_tokens]: text, end, padding
  std::vector<std::int64_t> inputs = {};   // [rows][target_tokens]: beginning, text, padding
  std::vector<std::int64_t> targets = {};  // likewise: text, end, padding
  std::int64_t target_count = 0;           // without padding
};

// A batch of the pairs at these indices, in the same order.
[[nodiscard]] PairBatch batch_of(const std::vector<TokenPair>& pairs,
                                 std::span<const std::size_t> indices);

// Sorts indices by length, the shortest first, so that batches need less padding.
[[nodiscard]] std::vector<std::size_t> by_length(const std::vector<TokenPair>& pairs,
                                                 std::vector<std::size_t> indices);

// An epoch has each pair once, except a remainder that fills no batch. It is shuffled and cut into
// pools of 50 batches; each pool is sorted by length, then the batches are shuffled.
class PairOrder {
 public:
  // The pairs must outlive this. Fails if they do not fill a batch.
  PairOrder(const std::vector<TokenPair>& pairs, std::int64_t rows, std::uint64_t seed);

  [[nodiscard]] std::span<const std::size_t> at(std::int64_t step);

 private:
  void arrange(std::int64_t epoch);

  const std::vector<TokenPair>& pairs_;
  std::size_t rows_;
  std::uint64_t seed_;
  std::int64_t batches_ = 0;  // per epoch
  std::int64_t epoch_ = -1;   // the epoch of order_
  std::vector<std::size_t> order_;
};

}  // namespace rotary::lab
