// SPDX-License-Identifier: Apache-2.0
// Names of variant alternatives and of enumerators, from their Describe (rotary/describe.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "rotary/describe.hpp"

namespace rotary {

template <class... Alternatives>
constexpr auto names_of(std::type_identity<std::variant<Alternatives...>>) {
  return std::array{Describe<Alternatives>::name...};
}

// The names of the alternatives of a std::variant, in order.
template <class Variant>
inline constexpr std::array names = names_of(std::type_identity<Variant>());

// A Wrapper that holds the default value of the alternative with this name, or nothing.
template <class Wrapper, class... Alternatives>
std::optional<Wrapper> named(std::string_view name,
                             std::type_identity<std::variant<Alternatives...>>) {
  std::optional<Wrapper> found;
  ((Describe<Alternatives>::name == name ? void(found = Alternatives{}) : void()), ...);
  return found;
}

// The names of an enumeration as text: "cosine or hard", "a, b or c".
template <class Enum>
std::string enumerator_names() {
  constexpr const auto& all = Describe<Enum>::enumerators;
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 < all.size() ? ", " : " or ";
    text += all[i].name;
  }
  return text;
}

}  // namespace rotary
