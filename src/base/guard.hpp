// SPDX-License-Identifier: Apache-2.0
// Turns failed allocations into errors and sets the arithmetic modes. Because the API never throws,
// public functions that allocate or compute run their bodies inside guarded().
#pragma once

#include <new>
#include <stdexcept>

#include "base/arithmetic_modes.hpp"
#include "rotary/result.hpp"

namespace rotary {

// body returns Status or Result<T>. Modes: a class of arithmetic_modes.hpp. The text of the error
// is short enough to need no allocation.
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
