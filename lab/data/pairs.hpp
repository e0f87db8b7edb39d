// SPDX-License-Identifier: Apache-2.0
// Pairs: sentences and their translations, as the text of a data set: a line for each pair, the
// sentence, a tab, the other one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::lab {

struct PairText {
  std::string text;
  std::vector<std::int64_t> documents;  // bytes of each: whole lines
};

struct Pair {
  std::string_view source;
  std::string_view target;
};

// The pairs of such a text, which must outlive them.
[[nodiscard]] std::vector<Pair> pairs_of(std::string_view text);

}  // namespace rotary::lab
