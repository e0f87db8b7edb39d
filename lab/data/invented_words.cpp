// SPDX-License-Identifier: Apache-2.0
#include "lab/data/invented_words.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rotary::lab {

std::string make_word(Random& random, std::int64_t syllables) {
  constexpr std::string_view onsets = "bcdfghklmnprstvwz";
  constexpr std::string_view vowels = "aeiou";
  constexpr std::array<std::string_view, 6> codas = {"", "", "n", "r", "s", "l"};
  std::string word;
  for (std::int64_t n = 0; n < syllables; ++n) {
    word += onsets[static_cast<std::size_t>(random.below(std::ssize(onsets)))];
    word += vowels[static_cast<std::size_t>(random.below(std::ssize(vowels)))];
    word += codas[static_cast<std::size_t>(random.below(std::ssize(codas)))];
  }
  return word;
}

Words make_words(Random& random, std::int64_t count) {
  Words words;
  for (std::int64_t n = 0; n < count; ++n) words.push_back(make_word(random, 1 + random.below(3)));
  return words;
}

std::size_t choose_rank(Random& random, std::size_t count) {
  return static_cast<std::size_t>(std::pow(static_cast<double>(count), random.uniform())) - 1;
}

}  // namespace rotary::lab
