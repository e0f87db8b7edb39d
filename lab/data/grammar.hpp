// SPDX-License-Identifier: Apache-2.0
// Text without a source: documents of a seeded grammar, for machines without other data. Predicting
// its bytes requires what prose requires: the spelling of words, the order of words, agreement over
// some words, and names that a document repeats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rotary::lab {

struct GrammarText {
  std::string text;
  std::vector<std::int64_t> documents;  // bytes of each
};

// At least `bytes` bytes; the same text for the same arguments on every machine.
[[nodiscard]] GrammarText generate_text(std::uint64_t seed, std::int64_t bytes);

}  // namespace rotary::lab
