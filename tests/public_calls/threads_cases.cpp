// SPDX-License-Identifier: Apache-2.0
// rotary::threads, in C++ and in C.
#include <optional>

#include "public_calls/cases.hpp"
#include "rotary/rotary_threads.h"
#include "rotary/threads.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

Outcome outcome_of_status(rotary_status status) {
  if (status == ROTARY_OK) return {};
  return {.error = static_cast<ErrorCode>(status)};
}

rotary_threads* started() {
  rotary_threads* threads = nullptr;
  if (rotary_threads_start(1, &threads) != ROTARY_OK) {
    throw std::runtime_error(rotary_threads_last_error());
  }
  return threads;
}

std::vector<Case> c_functions() {
  std::vector<Case> cases = {
      cannot_fail("rotary_threads_last_error", rotary_threads_last_error),
      {.symbol = "rotary_threads_stop", .what = {}, .call = [](Attempt& attempt) {
         rotary_threads* const threads = started();
         return attempt.of_what_cannot_fail([&] { return (rotary_threads_stop(threads), 0); });
       }}};
  for (const std::int64_t concurrency : {3, -1}) {
    cases.push_back({.symbol = "rotary_threads_start",
                     .what = std::to_string(concurrency),
                     .call = [concurrency](Attempt& attempt) {
                       rotary_threads* threads = nullptr;
                       const rotary_status status =
                           attempt([&] { return rotary_threads_start(concurrency, &threads); });
                       rotary_threads_stop(threads);
                       return outcome_of_status(status);
                     }});
    cases.push_back({.symbol = "rotary_threads_executor",
                     .what = std::to_string(concurrency),
                     .call = [concurrency](Attempt& attempt) {
                       rotary_threads* const threads = concurrency < 0 ? nullptr : started();
                       rotary_executor executor = ROTARY_EXECUTOR_INIT;
                       const rotary_status status =
                           attempt([&] { return rotary_threads_executor(threads, &executor); });
                       rotary_threads_stop(threads);
                       return outcome_of_status(status);
                     }});
  }
  return cases;
}

}  // namespace

std::vector<Case> threads_cases() {
  std::vector<Case> cases = c_functions();
  for (const std::int64_t concurrency : {4, 1025}) {
    cases.push_back(case_of("rotary::Threads::start(", std::to_string(concurrency),
                            [concurrency] { return Threads::start(concurrency); }));
  }
  const auto with_two = [](std::string_view symbol, auto use) {
    return Case{.symbol = symbol, .what = {}, .call = [use](Attempt& attempt) {
                  std::optional<Threads> one(value_of(Threads::start(2)));
                  std::optional<Threads> other(value_of(Threads::start(2)));
                  return attempt.of_what_cannot_fail([&] { return use(one, other); });
                }};
  };
  cases.push_back(with_two("rotary::Threads::Threads(rotary::Threads&&)",
                           [](auto& one, auto&) { return Threads(*std::move(one)), 0; }));
  cases.push_back(with_two("rotary::Threads::operator=(rotary::Threads&&)",
                           [](auto& one, auto& other) { return *one = *std::move(other), 0; }));
  cases.push_back(
      with_two("rotary::Threads::~Threads()", [](auto& one, auto&) { return one.reset(), 0; }));
  cases.push_back(with_two("rotary::Threads::executor() const",
                           [](auto& one, auto&) { return one->executor(); }));
  return cases;
}

}  // namespace rotary::test
