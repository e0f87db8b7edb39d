// SPDX-License-Identifier: Apache-2.0
// The main of every test binary. With ROTARY_INSTRUCTION_SET set, the binary is skipped (exit 77)
// if the machine cannot run that set, and fails if the library used another one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rotary/instruction_set.hpp"

namespace {

constexpr int skipped_exit_code = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* forced = std::getenv("ROTARY_INSTRUCTION_SET");
  if (forced == nullptr) return RUN_ALL_TESTS();

  const auto supported = rotary::supported_instruction_sets();
  if (std::find(supported.begin(), supported.end(), forced) == supported.end()) {
    std::printf("skipped: this build on this machine cannot run the instruction set %s\n", forced);
    return skipped_exit_code;
  }
  const int result = RUN_ALL_TESTS();
  const auto used = rotary::instruction_set();
  if (!used || *used != forced) {
    std::printf("failed: ROTARY_INSTRUCTION_SET is %s, but the library used %s\n", forced,
                used ? std::string(*used).c_str() : used.error().message.c_str());
    return 1;
  }
  return result;
}
