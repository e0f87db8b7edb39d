// SPDX-License-Identifier: Apache-2.0
// Turns exceptions into errors and sets the arithmetic modes. Code inside guarded() may throw, as
// containers do when memory runs out; the API never throws. Every public function that allocates or
// computes runs its body inside guarded().
#pragma once

#include <new>
#include <stdexcept>

#include "base/arithmetic_modes.hpp"
#include "rotary/result.hpp"

namespace rotary {

// body returns Status or Result<T>. The error text fits into a string without allocating. Modes:
// one of arithmetic_modes.hpp.
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
