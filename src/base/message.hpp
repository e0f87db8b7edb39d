// SPDX-License-Identifier: Apache-2.0
// Builds the text of an Error from parts.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "rotary/result.hpp"

namespace rotary {

// The shortest decimal text that reads back as the same double: "0.25", "500000", "1e+22", "nan".
[[nodiscard]] std::string to_text(double value);
[[nodiscard]] inline std::string to_text(std::integral auto value) { return std::to_string(value); }
[[nodiscard]] inline std::string to_text(std::string_view value) { return std::string(value); }

template <class... Parts>
[[nodiscard]] std::string message(const Parts&... parts) {
  std::string text;
  (text.append(to_text(parts)), ...);
  return text;
}

template <class... Parts>
[[nodiscard]] Error invalid_argument(const Parts&... parts) {
  return {ErrorCode::invalid_argument, message(parts...)};
}

template <class... Parts>
[[nodiscard]] Error malformed_input(const Parts&... parts) {
  return {ErrorCode::malformed_input, message(parts...)};
}

template <class... Parts>
[[nodiscard]] Error unsupported(const Parts&... parts) {
  return {ErrorCode::unsupported, message(parts...)};
}

// Rewords the error of an inner call as one about the argument that `before` names. Keeps
// out_of_memory, which is no argument's fault.
[[nodiscard]] inline Error blamed(ErrorCode code, std::string_view before, const Error& error) {
  if (error.code == ErrorCode::out_of_memory) return error;
  return {code, message(before, error.message)};
}

}  // namespace rotary
