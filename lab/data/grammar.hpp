// SPDX-License-Identifier: Apache-2.0
// Text without a source: documents of a seeded grammar, for machines that have no other data. To
// predict its bytes a model needs what it needs for prose: the spelling of words, which word
// follows which, agreement over some words, and names that a document repeats.
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
