// SPDX-License-Identifier: Apache-2.0
// Tests of refusals change one thing about a valid call and check the error.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <source_location>
#include <string_view>

#include "support/error_matchers.hpp"

namespace rotary::test {

using Parts = std::initializer_list<std::string_view>;

// Expects an error with this code whose message contains these parts.
template <class Outcome>
void refused(const Outcome& outcome, Parts parts, ErrorCode code = ErrorCode::invalid_argument,
             const std::source_location& at = std::source_location::current()) {
  EXPECT_TRUE(fails(outcome, code, parts)) << at.file_name() << ":" << at.line();
}

// Holds a valid call `c`. The first argument of refuse() changes one thing about it:
//   refuse(c.k.data = nullptr, {"k: data must not be null"});
// refuse() expects an error of Call::run(), and Call::written() (if any) unchanged. It resets `c`.
template <class Call>
class Refusals : public testing::Test {
 protected:
  template <class Change>
  void refuse(const Change& /*change*/, Parts parts, ErrorCode code = ErrorCode::invalid_argument,
              const std::source_location& at = std::source_location::current()) {
    const auto before = written();
    refused(c.run(), parts, code, at);
    EXPECT_EQ(written(), before) << "written by line " << at.line();
    held_.emplace();
  }
  template <class Change>
  void accept(const Change& /*change*/,
              const std::source_location& at = std::source_location::current()) {
    EXPECT_TRUE(c.run()) << "line " << at.line();
    held_.emplace();
  }

 private:
  [[nodiscard]] auto written() const {
    if constexpr (requires { c.written(); })
      return c.written();
    else
      return 0;
  }

  std::optional<Call> held_{std::in_place};

 protected:
  Call& c = *held_;
};

}  // namespace rotary::test
