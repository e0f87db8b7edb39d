// SPDX-License-Identifier: Apache-2.0
// Unwraps Result in tests; an unexpected error fails the test with its message.
#pragma once

#include <stdexcept>
#include <utility>

#include "rotary/result.hpp"

namespace rotary::test {

template <class T>
[[nodiscard]] T value_of(Result<T> result) {
  if (!result) throw std::runtime_error("unexpected error: " + result.error().message);
  return *std::move(result);
}

inline void require(const Status& status) {
  if (!status) throw std::runtime_error("unexpected error: " + status.error().message);
}

}  // namespace rotary::test
