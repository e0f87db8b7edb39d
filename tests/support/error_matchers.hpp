// SPDX-License-Identifier: Apache-2.0
// Matchers for an error's code and parts of its message, such as the requirement and the value.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "rotary/result.hpp"

namespace rotary::test {

[[nodiscard]] inline testing::AssertionResult says(const Error& error, ErrorCode code,
                                                   std::initializer_list<std::string_view> parts) {
  if (error.code != code) {
    return testing::AssertionFailure()
           << "code " << static_cast<int>(error.code) << " where " << static_cast<int>(code)
           << " was expected: " << error.message;
  }
  for (const std::string_view part : parts) {
    if (error.message.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "no '" << part << "' in '" << error.message << "'";
    }
  }
  return testing::AssertionSuccess();
}

[[nodiscard]] inline testing::AssertionResult fails(const Status& status, ErrorCode code,
                                                    std::initializer_list<std::string_view> parts) {
  if (status) return testing::AssertionFailure() << "succeeded";
  return says(status.error(), code, parts);
}

template <class T>
[[nodiscard]] testing::AssertionResult fails(const Result<T>& result, ErrorCode code,
                                             std::initializer_list<std::string_view> parts) {
  if (result) return testing::AssertionFailure() << "succeeded";
  return says(result.error(), code, parts);
}

}  // namespace rotary::test
