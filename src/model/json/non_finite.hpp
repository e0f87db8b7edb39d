// SPDX-License-Identifier: Apache-2.0
// NaN, Infinity and -Infinity, which Python's json writes although JSON lacks them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rotary {

struct NonFinite {
  std::size_t string;  // number of strings, keys included, before it
  double value;
};

struct NonFiniteNumbers {
  std::string text;  // with each number replaced by "" and spaces
  std::vector<NonFinite> numbers;
};

// Replaces NaN and infinities by text of equal length, so that a JSON parser accepts the text and
// reports the right positions. The returned text is empty if the text has no such numbers.
[[nodiscard]] NonFiniteNumbers take_non_finite(std::string_view text);

}  // namespace rotary
