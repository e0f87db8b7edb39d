// SPDX-License-Identifier: Apache-2.0
// Words of no language, for generated text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/data/batches.hpp"
#include "lab/data/pair_batches.hpp"

namespace rotary::lab {

using Words = std::vector<std::string>;

[[nodiscard]] std::string make_word(Random& random, std::int64_t syllables);

// Words of one to three syllables each; a word may come twice.
[[nodiscard]] Words make_words(Random& random, std::int64_t count);

// In [0, count), small numbers more often than large ones, as Zipf has it: log-uniform ranks.
[[nodiscard]] std::size_t choose_rank(Random& random, std::size_t count);

// Text without a source: documents of a seeded grammar, for machines without other data. Predicting
// its bytes requires what prose requires: the spelling of words, the order of words, agreement over
// some words, and names that a document repeats.

struct GrammarText {
  std::string text;
  std::vector<std::int64_t> documents;  // bytes of each
};

// At least `bytes` bytes; the same text for the same arguments on every machine.
[[nodiscard]] GrammarText generate_text(std::uint64_t seed, std::int64_t bytes);

// Sentences and their translations without a source: a seeded grammar in two languages, for
// machines without other pairs. Its translation needs more than a dictionary: nouns have a gender,
// with which articles and adjectives agree; objects have a case; adjectives follow their nouns;
// verbs end subordinate clauses, and come before the subject after one.
// At least `pairs` pairs; the same text for the same arguments on every machine.
[[nodiscard]] PairText generate_pairs(std::uint64_t seed, std::int64_t pairs);

}  // namespace rotary::lab
