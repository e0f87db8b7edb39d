// SPDX-License-Identifier: Apache-2.0
// One call of one public function, to be made in surroundings that change.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "public_calls/bits.hpp"
#include "rotary/executor.hpp"
#include "rotary/result.hpp"

namespace rotary::test {

// How a call ended.
struct Outcome {
  std::optional<ErrorCode> error = {};  // absent: it did what it was asked
  std::string bits = {};                // of the numbers that it returned
};

[[nodiscard]] inline Outcome outcome_of(const Status& status) {
  if (!status) return {.error = status.error().code};
  return {};
}
template <class T>
[[nodiscard]] Outcome outcome_of(const Result<T>& result) {
  if (!result) return {.error = result.error().code};
  return {.bits = bits_of(*result)};
}

// Surrounds the function under test, and that alone.
class Attempt {
 public:
  Attempt() = default;
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  virtual ~Attempt() = default;

  template <class Function>
  auto operator()(Function function) {
    const Surroundings surroundings(*this);
    return function();
  }

  // For a function that has no error to return.
  template <class Function>
  Outcome of_what_cannot_fail(Function function) {
    const auto value = (*this)(function);
    return {.bits = bits_of(value)};
  }

 private:
  struct Surroundings {
    explicit Surroundings(Attempt& of) : attempt(of) { attempt.begin(); }
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;
    ~Surroundings() { attempt.end(); }
    Attempt& attempt;
  };

  virtual void begin() noexcept = 0;
  virtual void end() noexcept = 0;
};

struct Case {
  // Its line in tests/c_api/exported_symbols*.txt, or the beginning of one with parameters, as much
  // as tells overloads apart.
  std::string_view symbol;
  std::string what;  // which way, where there are several
  // Calls it through the attempt. What it makes is destroyed when the outcome is.
  std::function<Outcome(Attempt&)> call;
  // The call writes here when it succeeds; shared with it.
  std::vector<std::span<std::byte>> outputs = {};

  [[nodiscard]] std::string name() const { return std::string(symbol) + " " + what; }
};

// Cuts a call into three parts and runs them in order on the calling thread.
[[nodiscard]] Executor in_parts() noexcept;

// While one lives, in_parts() runs each part through the attempt.
class PartsThrough {
 public:
  explicit PartsThrough(Attempt& attempt) noexcept;
  ~PartsThrough();
  PartsThrough(const PartsThrough&) = delete;
  PartsThrough& operator=(const PartsThrough&) = delete;
};

template <class T>
[[nodiscard]] std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

using Bytes = std::vector<std::byte>;

[[nodiscard]] std::vector<Bytes> copies_of(const std::vector<std::span<std::byte>>& outputs);
void restore(const std::vector<std::span<std::byte>>& outputs, const std::vector<Bytes>& from);

// Lines of such a list that no case calls, and symbols of cases that do not stand for one line.
[[nodiscard]] std::vector<std::string> unmatched_symbols(std::span<const Case> cases,
                                                         const std::string& list);

}  // namespace rotary::test
