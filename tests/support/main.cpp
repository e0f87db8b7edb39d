// SPDX-License-Identifier: Apache-2.0
// The main function of test binaries with GoogleTest. Skips the tests (exit 77) if this build or
// machine lacks the instruction set in ROTARY_INSTRUCTION_SET. Fails if the library used another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

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
    std::printf("skipped: this build or machine lacks %s; it has", forced);
    for (const std::string_view name : supported) {
      std::printf(" %.*s", static_cast<int>(name.size()), name.data());
    }
    std::printf("\n");
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
