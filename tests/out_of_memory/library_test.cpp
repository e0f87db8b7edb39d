// SPDX-License-Identifier: Apache-2.0
// Every public function when memory runs out: each of its allocations fails in turn.
#include <gtest/gtest.h>

#include "out_of_memory/cases.hpp"

namespace rotary {
namespace {

void expect_out_of_memory(const std::vector<test::Case>& cases) {
  for (const test::Case& each : cases) {
    ASSERT_NO_FATAL_FAILURE(test::expect_out_of_memory(each));
  }
}

TEST(OutOfMemory, Models) { expect_out_of_memory(test::model_cases()); }
TEST(OutOfMemory, Rotations) { expect_out_of_memory(test::rotation_cases()); }
TEST(OutOfMemory, Caches) { expect_out_of_memory(test::cache_cases()); }
TEST(OutOfMemory, Attention) { expect_out_of_memory(test::attention_cases()); }
TEST(OutOfMemory, RelativeBiases) { expect_out_of_memory(test::relative_cases()); }
TEST(OutOfMemory, AbsoluteEncodings) { expect_out_of_memory(test::absolute_cases()); }
TEST(OutOfMemory, CFunctions) { expect_out_of_memory(test::c_cases()); }
TEST(OutOfMemory, Threads) { expect_out_of_memory(test::threads_cases()); }

// A new public function is missing here until it has a case.
TEST(OutOfMemory, EveryPublicFunctionIsCalled) {
  std::vector<test::Case> all;
  for (const auto& cases :
       {test::model_cases(), test::rotation_cases(), test::cache_cases(), test::attention_cases(),
        test::relative_cases(), test::absolute_cases(), test::c_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  const std::string lists = ROTARY_EXPORTED_SYMBOLS;
  EXPECT_EQ(test::unmatched_symbols(all, lists + ".txt"), std::vector<std::string>());
  EXPECT_EQ(test::unmatched_symbols(test::threads_cases(), lists + "_threads.txt"),
            std::vector<std::string>());
}

}  // namespace
}  // namespace rotary
