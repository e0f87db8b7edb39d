// SPDX-License-Identifier: Apache-2.0
// Each allocation of a call fails in turn: the first, then the second, until the call goes through.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"
#include "support/counted_new.hpp"

namespace rotary::test {

// How a call ended; absent: it did what it was asked.
using Outcome = std::optional<ErrorCode>;

[[nodiscard]] inline Outcome outcome_of(const Status& status) {
  return status ? Outcome() : status.error().code;
}
template <class T>
[[nodiscard]] Outcome outcome_of(const Result<T>& result) {
  return result ? Outcome() : result.error().code;
}

// Runs the function under test, and that alone, while an allocation fails.
class Attempt {
 public:
  Attempt(std::size_t index, Failing which) : index_(index), which_(which) {}

  template <class Function>
  auto operator()(Function function) {
    const FailingNew failing(index_, which_);
    auto result = function();
    has_failed_ = failing.has_failed();
    return result;
  }

  // For a function that has no error to return.
  template <class Function>
  Outcome of_what_cannot_fail(Function function) {
    return outcome_of((*this)([&]() -> Status {
      static_cast<void>(function());
      return {};
    }));
  }

  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  std::size_t index_;
  Failing which_;
  bool has_failed_ = false;
};

// One way to call one public function.
struct Case {
  // Its line in tests/c_api/exported_symbols*.txt, or the beginning of one with parameters, as much
  // as tells overloads apart.
  std::string_view symbol;
  std::string what;  // which way, where there are several
  // Calls it through the attempt. What it makes is destroyed when this returns.
  std::function<Outcome(Attempt&)> call;
  // What the call writes to when it succeeds; shared with it.
  std::vector<std::span<std::byte>> outputs = {};
};

template <class T>
[[nodiscard]] std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// Fails the test where an allocation that fails is not reported as out_of_memory, where outputs
// change all the same, where anything is leaked, or where the next call does not go through as if
// nothing had been. Ends the process, with the name of the case, where a call does.
void expect_out_of_memory(const Case& each);

// Lines of such a list that no case calls, and symbols of cases that do not stand for one line.
[[nodiscard]] std::vector<std::string> unmatched_symbols(std::span<const Case> cases,
                                                         const std::string& list);

}  // namespace rotary::test
