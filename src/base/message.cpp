// SPDX-License-Identifier: Apache-2.0
#include "base/message.hpp"

#include <array>
#include <charconv>

namespace rotary {

std::string to_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

}  // namespace rotary
