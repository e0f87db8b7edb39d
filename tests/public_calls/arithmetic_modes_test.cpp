// SPDX-License-Identifier: Apache-2.0
// Calls every public function in every arithmetic mode that a program may set. The bits are those
// of the default modes, and the modes stay as the program set them.
#include <gtest/gtest.h>

#include <cfenv>
#include <functional>

#include "public_calls/call.hpp"

namespace rotary {
namespace {

// The modes as a number, without status flags such as inexact.
std::uint64_t current_modes() {
#if defined(__SSE2__)
  std::uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return (std::uint64_t{__builtin_ia32_stmxcsr()} & 0xFFC0U) << 16U | x87;
#else
  std::fenv_t environment;
  std::fegetenv(&environment);
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

struct Modes {
  std::string name;
  std::function<void()> set;
};

std::vector<Modes> modes() {
  std::vector<Modes> all = {
      {"upwards", [] { std::fesetround(FE_UPWARD); }},
      {"downwards", [] { std::fesetround(FE_DOWNWARD); }},
      {"towards 0", [] { std::fesetround(FE_TOWARDZERO); }},
  };
#if defined(__SSE2__)
  // These bits of MXCSR make subnormal results and operands 0. -ffast-math sets them.
  all.push_back(
      {"subnormals are 0", [] { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U); }});
  all.push_back({"x87 in float", [] {
                   const std::uint16_t word = 0x007F;
                   asm volatile("fldcw %0" : : "m"(word));
                 }});
#endif
#if defined(__GLIBC__)
  all.push_back(
      {"exceptions trap", [] { feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW); }});
#endif
  return all;
}

class InModes final : public test::Attempt {
 public:
  explicit InModes(const Modes& modes) : modes_(modes) {}

  [[nodiscard]] bool left_modes_alone() const { return left_ == set_; }

 private:
  void begin() noexcept override {
    std::fegetenv(&before_);
    std::feclearexcept(FE_ALL_EXCEPT);
    modes_.set();
    set_ = current_modes();
  }
  void end() noexcept override {
    left_ = current_modes();
    std::fesetenv(&before_);
  }

  const Modes& modes_;
  std::fenv_t before_{};
  std::uint64_t set_ = 0;
  std::uint64_t left_ = 0;
};

const Modes default_modes{"default", [] {}};

struct Made {
  test::Outcome outcome;
  std::vector<std::byte> written;
};

template <class Make>
Made made(Make make) {
  test::begin_operands();
  test::Outcome outcome = make();
  return {std::move(outcome), test::operand_bytes()};
}

// make(call, sizes, in_modes) runs the call, or only an executor's tasks, through in_modes.
template <class Make>
void expect_no_bit_changes(Make make) {
  for (const test::Call& call : test::core_calls()) {
    for (const auto& sizes : sizes_to_try(call)) {
      InModes in_default_modes(default_modes);
      const Made expected = made([&] { return call.make(in_default_modes, sizes); });
      for (const Modes& other : modes()) {
        InModes in_modes(other);
        const Made got = made([&] { return make(call, sizes, in_modes); });
        EXPECT_EQ(got.outcome.error, expected.outcome.error) << call.name() << ": " << other.name;
        EXPECT_TRUE(got.outcome.bits == expected.outcome.bits) << call.name() << ": " << other.name;
        EXPECT_TRUE(got.written == expected.written) << call.name() << ": " << other.name;
        EXPECT_TRUE(in_modes.left_modes_alone()) << call.name() << ": " << other.name;
      }
    }
  }
}

TEST(ArithmeticModes, SetByTheCallerChangeNoBit) {
  expect_no_bit_changes([](const test::Call& call, test::Sizes sizes, InModes& in_modes) {
    return call.make(in_modes, sizes);
  });
}

TEST(ArithmeticModes, SetInTheThreadsOfAnExecutorChangeNoBit) {
  expect_no_bit_changes([](const test::Call& call, test::Sizes sizes, InModes& in_modes) {
    const test::PartsThrough through(in_modes);
    InModes in_default_modes(default_modes);
    return call.make(in_default_modes, sizes);
  });
}

}  // namespace
}  // namespace rotary
