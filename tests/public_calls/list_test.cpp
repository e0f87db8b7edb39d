// SPDX-License-Identifier: Apache-2.0
// Every public function has calls in the table. Some vary its sizes, and at least one succeeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "public_calls/call.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

TEST(PublicCalls, CoverEveryExportedFunction) {
  const std::string lists = test::source_path("tests/c_api/exported_symbols");
  EXPECT_EQ(test::unmatched_symbols(test::core_calls(), lists + ".txt"),
            std::vector<std::string>());
  EXPECT_EQ(test::unmatched_symbols(test::threads_calls(), lists + "_threads.txt"),
            std::vector<std::string>());
}

TEST(PublicCalls, VaryASizeUnlessTheyTakeNone) {
  std::map<std::string_view, std::pair<bool, bool>> says_and_changes;
  for (const test::Call& call : test::core_calls()) {
    auto& [says, changes] = says_and_changes[call.symbol];
    says = says || !call.sizes.empty();
    changes = changes || std::ranges::any_of(call.sizes, [](const test::Size& size) {
                return size.held != test::Held::fixed;
              });
  }
  for (const auto& [symbol, of] : says_and_changes) EXPECT_EQ(of.first, of.second) << symbol;
}

// A refused call would skip most of a function.
TEST(PublicCalls, SucceedInAtLeastOneVariant) {
  std::map<std::string_view, bool> succeeds;
  test::Calls calls = test::core_calls();
  add(calls, test::threads_calls());
  test::Attempt plain;
  for (const test::Call& call : calls) {
    test::begin_operands();
    const bool succeeded = !call.make(plain, sizes_to_try(call).front()).error;
    succeeds[call.symbol] = succeeds[call.symbol] || succeeded;
  }
  for (const auto& [symbol, succeeded] : succeeds) EXPECT_TRUE(succeeded) << symbol;
}

}  // namespace
}  // namespace rotary
