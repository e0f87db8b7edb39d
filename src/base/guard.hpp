// SPDX-License-Identifier: Apache-2.0
// Where exceptions become errors, and the caller's arithmetic modes those in which numbers are
// promised. Code inside may throw (containers do when memory runs out); the API never does. Every
// public function whose body allocates or computes runs it inside guarded().
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
