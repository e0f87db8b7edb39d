// SPDX-License-Identifier: Apache-2.0
// Names that become folders.
#pragma once

#include <algorithm>
#include <string_view>

namespace rotary::lab {

inline constexpr std::string_view plain_name_requirement =
    "lower-case letters, digits, '-', '_' and '.', not first";

[[nodiscard]] inline bool is_plain_name(std::string_view name) noexcept {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, is_plain);
}

}  // namespace rotary::lab
