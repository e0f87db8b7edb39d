// SPDX-License-Identifier: Apache-2.0
#include "rotary/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace rotary {
namespace {

const Error some_error{.code = ErrorCode::malformed_input,
                       .message = "depth must be <= 64, got 65"};

TEST(Status, IsSuccessUnlessGivenAnError) {
  const Status success;
  EXPECT_TRUE(success.ok());
  EXPECT_TRUE(success);
  const Status failure = some_error;
  EXPECT_FALSE(failure.ok());
  EXPECT_FALSE(failure);
  EXPECT_EQ(failure.error(), some_error);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<std::string> value = std::string("yes");
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, "yes");
  EXPECT_EQ(value->size(), 3U);
  const Result<std::string> failure = some_error;
  ASSERT_FALSE(failure);
  EXPECT_EQ(failure.error().message, some_error.message);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> value = std::make_unique<int>(3);
  const std::unique_ptr<int> moved = *std::move(value);
  EXPECT_EQ(*moved, 3);
}

TEST(Result, OfAnErrorIsNoError) {
  const Result<int> zero = 0;
  EXPECT_TRUE(zero.has_value());
}

}  // namespace
}  // namespace rotary
