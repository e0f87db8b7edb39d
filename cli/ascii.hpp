// SPDX-License-Identifier: Apache-2.0
// Letters without a locale.
#pragma once

namespace rotary::cli {

// 'A' to 'Z' in lower case, every other byte as it is.
[[nodiscard]] constexpr char ascii_lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace rotary::cli
