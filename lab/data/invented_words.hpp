// SPDX-License-Identifier: Apache-2.0
// Words of no language, for generated text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/data/random.hpp"

namespace rotary::lab {

using Words = std::vector<std::string>;

[[nodiscard]] std::string make_word(Random& random, std::int64_t syllables);

// Words of one to three syllables each; a word may come twice.
[[nodiscard]] Words make_words(Random& random, std::int64_t count);

// In [0, count), small numbers more often than large ones, as Zipf has it: log-uniform ranks.
[[nodiscard]] std::size_t choose_rank(Random& random, std::size_t count);

}  // namespace rotary::lab
