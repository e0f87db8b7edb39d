// SPDX-License-Identifier: Apache-2.0
// Each thread has an error text, which is cut between characters.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "c_api/status.hpp"
#include "rotary/rotary.h"

namespace rotary {
namespace {

void fail_with(const std::string& name) {
  EXPECT_EQ(rotary_force_instruction_set(name.c_str()), ROTARY_UNSUPPORTED);
}

TEST(LastError, EachThreadHasItsOwnError) {
  fail_with("first");
  std::string other_before = "unset";
  std::string other_after;
  std::thread([&] {
    other_before = rotary_last_error();
    fail_with("second");
    other_after = rotary_last_error();
  }).join();
  EXPECT_EQ(other_before, "");
  EXPECT_NE(other_after.find("'second'"), std::string::npos) << other_after;
  EXPECT_NE(std::string(rotary_last_error()).find("'first'"), std::string::npos);
}

TEST(LastError, IsCutBetweenCharacters) {
  // 1023 bytes hold 341 characters of 3 bytes, but only 340 after one letter.
  std::string text = "a";
  for (int i = 0; i < 400; ++i) text += "…";
  EXPECT_EQ(c_api::report(Error{ErrorCode::unsupported, text}), ROTARY_UNSUPPORTED);
  EXPECT_EQ(std::string(rotary_last_error()), text.substr(0, 1 + 3 * 340));
  text.erase(0, 1);
  c_api::report(Error{ErrorCode::unsupported, text});
  EXPECT_EQ(std::string(rotary_last_error()), text.substr(0, 1023));
  c_api::report(Error{ErrorCode::unsupported, "short"});
  EXPECT_STREQ(rotary_last_error(), "short");
}

}  // namespace
}  // namespace rotary
