// SPDX-License-Identifier: Apache-2.0
// Required: a member that must be given.
//
//   const RotarySpec spec{.head_dim = 128, .base = 1e4, .pairing = Pairing::half};  // or no spec
#pragma once

#include <utility>

namespace rotary {

// A member that must be given: leaving it out of a designated initialiser does not compile.
template <class T>
class Required {
 public:
  Required() = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): reads as the value it holds
  constexpr Required(T value) : value_(std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator const T&() const noexcept { return value_; }
  [[nodiscard]] constexpr const T& get() const noexcept { return value_; }

  friend constexpr bool operator==(const Required&, const Required&) = default;
  template <class Other>
  friend constexpr bool operator==(const Required& one, const Other& other) {
    return one.value_ == other;
  }

 private:
  T value_;
};

}  // namespace rotary
