// SPDX-License-Identifier: Apache-2.0
// Classes that set or keep the modes of IEEE 754 during a call of the library. A program may have
// changed a thread's modes: the rounding direction, flushing of subnormals to 0, traps, and on x86
// the precision of x87 registers. See docs/numeric-contract.md, "Modes of the caller".
#pragma once

#include <cfenv>
#include <cstdint>
#include <optional>

namespace rotary {

// Sets the default modes while it lives, then restores the previous ones.
class DefaultModes {
 public:
  DefaultModes() noexcept;
  ~DefaultModes();
  DefaultModes(const DefaultModes&) = delete;
  DefaultModes& operator=(const DefaultModes&) = delete;

  // Not inlined: clang ignores modes, and would move inlined arithmetic behind the restoration. It
  // does not move a call that writes memory.
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

// The mode bits of MXCSR and of the x87 control word, and their defaults: round to nearest, no
// traps, keep subnormals, 64 bits of significand.
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
  // fnclex clears the exceptions raised meanwhile, which would trap once traps are enabled again.
  if ((x87_ & x86::x87_modes) != x86::x87_default) [[unlikely]] {
    asm volatile("fnclex\n\tfldcw %0" : : "m"(x87_) : "memory");
  }
}

#elif defined(__aarch64__)

// Every bit of FPCR is 0 by default.
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

// sum + less equals sum - less only under rounding to nearest. Reading modes is ten times slower.
[[nodiscard]] inline bool rounds_to_nearest() noexcept {
  static const volatile double one = 1;
  constexpr double less = 0x1p-60;  // less than half a unit in the last place of 1
  const double sum = one;
  return !(sum + less > sum - less);
}

// Sets the default modes if rounding is not to nearest; otherwise keeps all modes. Serves calls of
// some tens of nanoseconds, which DefaultModes would make a tenth longer.
class NearestRounding {
 public:
  NearestRounding() noexcept {
    if (!rounds_to_nearest()) [[unlikely]] {
      modes_.emplace();
    }
  }

  // May be inlined: the arithmetic is in kernels, which are not inlined.
  template <class Body>
  static auto compute(Body& body) -> decltype(body()) {
    return body();
  }

 private:
  std::optional<DefaultModes> modes_;
};

// Keeps the caller's modes, for functions that compute nothing themselves.
class ModesOfTheCaller {
 public:
  template <class Body>
  static auto compute(Body& body) -> decltype(body()) {
    return body();
  }
};

// Forces the computation of `number` before a surrounding DefaultModes restores the modes.
template <class Number>
[[nodiscard]] Number computed_here(Number number) noexcept {
  const volatile Number computed = number;
  return computed;
}

}  // namespace rotary
