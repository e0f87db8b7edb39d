// SPDX-License-Identifier: Apache-2.0
// The border between code that may throw (containers do, when memory runs out) and an API that
// never does: every public function whose body allocates runs inside guarded().
#pragma once

#include <new>
#include <stdexcept>

#include "rotary/result.hpp"

namespace rotary {

// body returns Status or Result<T>. The text fits a string's own buffer, so reporting allocates
// nothing.
template <class Body>
[[nodiscard]] auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "out of memory"};
  } catch (const std::length_error&) {
    return Error{ErrorCode::out_of_memory, "out of memory"};
  }
}

}  // namespace rotary
