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

// Pairs from two text files: line by line. From two folders: paragraph by paragraph of the HTML
// pages of the same name, relative to the folder that all pages of a side are in; pages whose
// numbers of paragraphs differ are left out. A page is a document, or a pair if there are fewer
// than 100 pages. Pairs with an empty side, with equal sides, and repeated pairs are left out.
// Fails if fewer than 100 are left.
[[nodiscard]] PairText collect_pairs(const std::string& sources, const std::string& targets);

}  // namespace rotary::lab
