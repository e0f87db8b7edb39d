// SPDX-License-Identifier: Apache-2.0
// A thread computes in modes that its program may have changed: the direction of rounding, whether
// subnormal numbers become 0, which exceptions trap, on x86 also the precision of x87 registers.
// Numbers of this library are promised in the modes that IEEE 754 begins with
// (docs/numeric-contract.md, "Modes of the caller"); these classes see to it at its border.
#pragma once

#include <cfenv>
#include <cstdint>
#include <optional>

namespace rotary {

// While one lives, the modes are the default ones; afterwards those of before.
class DefaultModes {
 public:
  DefaultModes() noexcept;
  ~DefaultModes();
  DefaultModes(const DefaultModes&) = delete;
  DefaultModes& operator=(const DefaultModes&) = delete;

  // A compiler knows of no modes: what it inlines it may compute after they are restored, as clang
  // does. A call that writes memory stays where it is.
  template <class Body>
  [[gnu::noinline]] static auto compute(Body& body) -> decltype(body()) {
    return body();
  }

 private:
#if defined(__SSE2__)
  std::uint32_t sse_;
  std::uint16_t x87_;
#elif defined(__aarch64__)
  std::uint64_t control_;
#else
  int rounding_;
#endif
};

#if defined(__SSE2__)

namespace x86 {

// The bits of MXCSR and of x87's control word that are modes, and the default: to nearest, no
// exception traps, subnormals stay, 64 bits of significand. The rest of MXCSR are flags.
inline constexpr std::uint32_t sse_modes = 0xFFC0;
inline constexpr std::uint32_t sse_default = 0x1F80;
inline constexpr std::uint16_t x87_modes = 0x0F3F;
inline constexpr std::uint16_t x87_default = 0x033F;

}  // namespace x86

inline DefaultModes::DefaultModes() noexcept : sse_(__builtin_ia32_stmxcsr()) {
  asm volatile("fnstcw %0" : "=m"(x87_));
  if ((sse_ & x86::sse_modes) != x86::sse_default) [[unlikely]] {
    __builtin_ia32_ldmxcsr((sse_ & ~x86::sse_modes) | x86::sse_default);
  }
  if ((x87_ & x86::x87_modes) != x86::x87_default) [[unlikely]] {
    const std::uint16_t word = (x87_ & ~x86::x87_modes) | x86::x87_default;
    asm volatile("fldcw %0" : : "m"(word) : "memory");
  }
}

inline DefaultModes::~DefaultModes() {
  if ((sse_ & x86::sse_modes) != x86::sse_default) [[unlikely]]
    __builtin_ia32_ldmxcsr(sse_);
  // An exception that traps again would do so for what was raised meanwhile.
  if ((x87_ & x86::x87_modes) != x86::x87_default) [[unlikely]] {
    asm volatile("fnclex\n\tfldcw %0" : : "m"(x87_) : "memory");
  }
}

#elif defined(__aarch64__)

// Every mode is 0 by default.
inline DefaultModes::DefaultModes() noexcept {
  asm volatile("mrs %0, fpcr" : "=r"(control_) : : "memory");
  if (control_ != 0) [[unlikely]] {
    asm volatile("msr fpcr, xzr" : : : "memory");
  }
}

inline DefaultModes::~DefaultModes() {
  if (control_ != 0) [[unlikely]] {
    asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
  }
}

#else

inline DefaultModes::DefaultModes() noexcept : rounding_(std::fegetround()) {
  if (rounding_ != FE_TONEAREST) [[unlikely]]
    std::fesetround(FE_TONEAREST);
}

inline DefaultModes::~DefaultModes() {
  if (rounding_ != FE_TONEAREST) [[unlikely]]
    std::fesetround(rounding_);
}

#endif

// By computing two sums that both become 1 only where the nearer number is taken, since reading the
// modes takes ten times as long. Upwards the first is larger, downwards and to 0 the second
// smaller.
[[nodiscard]] inline bool rounds_to_nearest() noexcept {
  static const volatile double one = 1;
  constexpr double less = 0x1p-60;  // than half a unit in the last place of 1
  const double sum = one;
  return !(sum + less > sum - less);
}

// The default modes where the direction of rounding is another one, and else those that there are:
// for calls of some tens of nanoseconds, to which DefaultModes would add a tenth.
class NearestRounding {
 public:
  NearestRounding() noexcept {
    if (!rounds_to_nearest()) [[unlikely]] {
      modes_.emplace();
    }
  }

  // Its calls compute in kernels, which are never inlined.
  template <class Body>
  static auto compute(Body& body) -> decltype(body()) {
    return body();
  }

 private:
  std::optional<DefaultModes> modes_;
};

// Those of the caller: for what computes nothing, or calls what sees to it.
class ModesOfTheCaller {
 public:
  template <class Body>
  static auto compute(Body& body) -> decltype(body()) {
    return body();
  }
};

// The number, computed before the modes that this stands within are restored.
template <class Number>
[[nodiscard]] Number computed_here(Number number) noexcept {
  const volatile Number computed = number;
  return computed;
}

}  // namespace rotary
