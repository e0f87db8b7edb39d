// SPDX-License-Identifier: Apache-2.0
// Records the source of each value of a model.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary {

using Sources = std::vector<ValueSource>;

// Records the origin of a value and replaces an earlier record. value: a string literal.
inline void note(Sources& sources, std::string_view value, Origin origin,
                 std::string_view key = {}) {
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const ValueSource& each) { return each.value == value; });
  if (found == sources.end()) {
    sources.push_back({.value = value, .origin = origin, .key = std::string(key)});
  } else {
    found->origin = origin;
    found->key = key;
  }
}

// The origin of a value from the config or else from the class.
[[nodiscard]] inline Origin stated_if(bool is_given) {
  return is_given ? Origin::stated : Origin::class_default;
}

}  // namespace rotary
