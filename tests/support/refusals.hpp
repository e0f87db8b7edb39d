// SPDX-License-Identifier: Apache-2.0
// Rows of refusals: what is changed about a call that succeeds, and what its error must say.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <source_location>
#include <string_view>

#include "support/error_matchers.hpp"

namespace rotary::test {

using Parts = std::initializer_list<std::string_view>;

// The outcome, a Status or a Result, is an error of this code that says these parts.
template <class Outcome>
void refused(const Outcome& outcome, Parts parts, ErrorCode code = ErrorCode::invalid_argument,
             const std::source_location& at = std::source_location::current()) {
  EXPECT_TRUE(fails(outcome, code, parts)) << at.file_name() << ":" << at.line();
}

// Tests of a call, `c`, that succeeds. A row changes one thing about it, in the first argument:
//   refuse(c.k.data = nullptr, {"k: data must not be null"});
// It then calls Call::run(), and renews `c`. Call::written(), a copy of all destinations, if there
// is one, must stay as it was.
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
