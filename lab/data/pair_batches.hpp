// SPDX-License-Identifier: Apache-2.0
// Pairs: sentences and their translations, as the text of a data set: a line for each pair, the
// sentence, a tab, the other one.
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

// The pairs of such a text, which must outlive them.
[[nodiscard]] std::vector<Pair> pairs_of(std::string_view text);

// A translator's batch in one step: pairs of about the same length, as a function of the pairs, the
// seed and the step.
// Without a beginning and an end.
struct TokenPair {
  Pair text;
  std::vector<std::int64_t> source = {};
  std::vector<std::int64_t> target = {};
};

// The pairs whose sides, each with a token for its end, have at most `tokens` tokens. The text must
// outlive them.
[[nodiscard]] std::vector<TokenPair> tokenize_pairs(std::string_view text, const Pieces& pieces,
                                                    std::int64_t tokens);

struct PairBatch {
  std::int64_t rows = 0;
  std::int64_t source_tokens = 0;
  std::int64_t target_tokens = 0;
  std::vector<std::int64_t> sources = {};  // [rows][source_tokens]: a text, its end, padding
  std::vector<std::int64_t> inputs = {};   // [rows][target_tokens]: a beginning, a text, padding
  std::vector<std::int64_t> targets = {};  // likewise: the text, its end, padding
  std::int64_t target_count = 0;           // that are no padding
};

// A batch of these pairs, in this order.
[[nodiscard]] PairBatch batch_of(const std::vector<TokenPair>& pairs,
                                 std::span<const std::size_t> indices);

// Indices of pairs, the shortest first: less padding if neighbours share a batch.
[[nodiscard]] std::vector<std::size_t> by_length(const std::vector<TokenPair>& pairs,
                                                 std::vector<std::size_t> indices);

// Each pair once in an epoch, except for a remainder that fills no batch. An epoch is shuffled, cut
// into pools of 50 batches, each of which is sorted by length, and the batches are shuffled.
class PairOrder {
 public:
  // The pairs must outlive it. Fails if they are fewer than the rows of a batch.
  PairOrder(const std::vector<TokenPair>& pairs, std::int64_t rows, std::uint64_t seed);

  // The pairs of a step.
  [[nodiscard]] std::span<const std::size_t> at(std::int64_t step);

 private:
  void arrange(std::int64_t epoch);

  const std::vector<TokenPair>& pairs_;
  std::size_t rows_;
  std::uint64_t seed_;
  std::int64_t batches_ = 0;  // of an epoch
  std::int64_t epoch_ = -1;   // that order_ is of
  std::vector<std::size_t> order_;
};

}  // namespace rotary::lab
