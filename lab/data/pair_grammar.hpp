// SPDX-License-Identifier: Apache-2.0
// Sentences and their translations without a source: a seeded grammar in two languages, for
// machines without other pairs. Its translation needs more than a dictionary: nouns have a gender,
// with which articles and adjectives agree; objects have a case; adjectives follow their nouns;
// verbs end subordinate clauses, and come before the subject after one.
#pragma once

#include <cstdint>

#include "lab/data/pairs.hpp"

namespace rotary::lab {

// At least `pairs` pairs; the same text for the same arguments on every machine.
[[nodiscard]] PairText generate_pairs(std::uint64_t seed, std::int64_t pairs);

}  // namespace rotary::lab
