// SPDX-License-Identifier: Apache-2.0
// Made documents for tests. A tag "<0012:0340>" shows its origin: document 12, byte 340.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "lab/data/batches.hpp"
#include "lab/data/dataset.hpp"
#include "lab/process/program.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {

inline constexpr std::int64_t tag_bytes = 11;

struct Place {
  std::int64_t document = 0;
  std::int64_t offset = 0;  // of the passage's first byte
};

// The origin of a passage of at least 2 * tag_bytes bytes: its first '<' begins a complete tag.
inline Place place_of(std::string_view passage) {
  const std::size_t at = passage.find('<');
  const std::string tag(passage.substr(at, tag_bytes));
  return {.document = std::stoll(tag.substr(1, 4)),
          .offset = std::stoll(tag.substr(6, 4)) - static_cast<std::int64_t>(at)};
}

// Every 20th document is for validation. Every 50th document is in the folder rare; the others take
// turns in the folders man1, man2 and man3.
inline Dataset tagged_documents(std::int64_t count, std::int64_t tags) {
  Manifest manifest{.name = "tagged"};
  std::string text;
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t tag = 0; tag < tags; ++tag)
      text += fmt::format("<{:04}:{:04}>", n, tag * tag_bytes);
    manifest.documents.push_back(tags * tag_bytes);
    manifest.paths.push_back(n % 50 == 0 ? fmt::format("share/rare/{}.1", n)
                                         : fmt::format("share/man{}/{}.1", 1 + n % 3, n));
  }
  return split(std::move(manifest), text);
}

// Documents of unique words: "d12w7 ".
inline Dataset worded_documents(std::int64_t count, std::int64_t words) {
  Manifest manifest{.name = "worded"};
  std::string text;
  for (std::int64_t n = 0; n < count; ++n) {
    std::string document;
    for (std::int64_t word = 0; word < words; ++word) document += fmt::format("d{}w{} ", n, word);
    manifest.documents.push_back(std::ssize(document));
    text += document;
  }
  return split(std::move(manifest), text);
}

// Lines of words in a made-up language, in which a few words are frequent.
inline std::string made_text(std::uint64_t seed, std::int64_t bytes) {
  Random random(seed);
  std::string text;
  while (std::ssize(text) < bytes) {
    for (std::int64_t words = 3 + random.below(9); words > 0; --words) {
      const auto rank = static_cast<std::int64_t>(std::pow(200.0, random.uniform()));
      text += fmt::format("{}{} ", "aeiouy"[rank % 6], rank * 7919 % 997);
    }
    text.back() = '\n';
  }
  return text;
}

// `count` pairs, ten in a document. A source is a line like made_text()'s. Its target has the words
// in reverse order, each with a capital letter.
inline Dataset made_pairs(std::uint64_t seed, std::int64_t count) {
  Manifest manifest{.name = "pairs"};
  std::istringstream lines(made_text(seed, count * 60));
  std::string text;
  for (std::int64_t pair = 0; pair < count; ++pair) {
    std::string line;
    std::getline(lines, line);
    std::istringstream words(line);
    std::string other;
    for (std::string word; words >> word;)
      other = fmt::format("{}{}{}", static_cast<char>(word[0] - 'a' + 'A'), word.substr(1),
                          other.empty() ? "" : " " + other);
    text += line + '\t' + other + '\n';
    if (pair % 10 == 0) manifest.documents.push_back(0);
    manifest.documents.back() += std::ssize(line) + std::ssize(other) + 2;
  }
  const ScratchFolder folder;
  std::string sentences = text;
  std::ranges::replace(sentences, '\t', '\n');
  const std::string input = folder.write("sentences", std::move(sentences));
  (void)output_of({"spm_train", "--input=" + input, "--model_prefix=" + folder / "pieces",
                   "--vocab_size=400", "--hard_vocab_limit=false", "--byte_fallback=true",
                   "--pad_id=0", "--unk_id=1", "--normalization_rule_name=identity", "--bos_id=2",
                   "--eos_id=3", "--num_threads=1", "--minloglevel=2"});
  Dataset pairs = split(std::move(manifest), text);
  pairs.pieces = read_text(folder / "pieces.model");
  return pairs;
}

}  // namespace rotary::lab
