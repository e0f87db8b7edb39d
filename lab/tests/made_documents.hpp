// SPDX-License-Identifier: Apache-2.0
// Documents in which each byte shows its origin: "<0012:0340>", document 12, byte 340.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "lab/data/dataset.hpp"

namespace rotary::lab {

inline constexpr std::int64_t tag_bytes = 11;

struct Place {
  std::int64_t document = 0;
  std::int64_t offset = 0;  // of the passage's first byte
};

// The place of a passage of at least two tags.
inline Place place_of(std::string_view passage) {
  const std::size_t at = passage.find('<');
  const std::string tag(passage.substr(at, tag_bytes));
  return {.document = std::stoll(tag.substr(1, 4)),
          .offset = std::stoll(tag.substr(6, 4)) - static_cast<std::int64_t>(at)};
}

// Every 20th is validation. Folders: man1, man2, man3 in turns, and each 50th in rare.
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

// Documents of words, each of a document of its own and different from all others: "d12w7 ".
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

}  // namespace rotary::lab
