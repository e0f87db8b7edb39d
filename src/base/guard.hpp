// SPDX-License-Identifier: Apache-2.0
// The border between code that may throw (containers do, when memory runs out) and an API that
// never does, and between the caller's modes of arithmetic and those that numbers are promised in:
// every public function whose body allocates or computes runs inside guarded().
#pragma once

#include <new>
#include <stdexcept>

#include "base/arithmetic_modes.hpp"
#include "rotary/result.hpp"

namespace rotary {

// body returns Status or Result<T>. The text fits a string's own buffer, so reporting allocates
// nothing. Modes: one of those of arithmetic_modes.hpp.
template <class Modes = DefaultModes, class Body>
[[nodiscard]] auto guarded(Body&& body) noexcept -> decltype(body()) {
  [[maybe_unused]] const Modes modes;
  try {
    return Modes::compute(body);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "out of memory"};
  } catch (const std::length_error&) {
    return Error{ErrorCode::out_of_memory, "out of memory"};
  }
}

}  // namespace rotary
