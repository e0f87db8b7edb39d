// SPDX-License-Identifier: Apache-2.0
// A new public function is missing here until it has a case.
#include <gtest/gtest.h>

#include "public_calls/cases.hpp"

namespace rotary {
namespace {

TEST(PublicCalls, AreThoseThatTheLibraryExports) {
  const std::string lists = ROTARY_EXPORTED_SYMBOLS;
  EXPECT_EQ(test::unmatched_symbols(test::core_cases(), lists + ".txt"),
            std::vector<std::string>());
  EXPECT_EQ(test::unmatched_symbols(test::threads_cases(), lists + "_threads.txt"),
            std::vector<std::string>());
}

}  // namespace
}  // namespace rotary
