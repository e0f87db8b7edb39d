// SPDX-License-Identifier: Apache-2.0
// While one lives, this thread takes subnormal numbers for 0 and makes none, a mode that many
// programs use for speed. Does nothing on machines that the tests cannot set up.
#pragma once

namespace rotary::test {

#if defined(__SSE2__)

class FlushSubnormals {
 public:
  FlushSubnormals() : before_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(before_ | flush_to_zero | are_zero);
  }
  ~FlushSubnormals() { __builtin_ia32_ldmxcsr(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  static constexpr unsigned flush_to_zero = 0x8000;
  static constexpr unsigned are_zero = 0x0040;
  unsigned before_;
};

#else

class FlushSubnormals {
 public:
  FlushSubnormals() {}
  ~FlushSubnormals() {}
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;
};

#endif

}  // namespace rotary::test
