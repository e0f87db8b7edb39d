// SPDX-License-Identifier: Apache-2.0
// Calls of rotary::threads, in C++ and in C.
#include <optional>

#include "public_calls/call.hpp"
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

void add_c_functions(Calls& calls, std::int64_t concurrency) {
  const Adding add{calls, std::to_string(concurrency)};
  add("rotary_threads_start", [concurrency] {
    rotary_threads* threads = nullptr;
    const rotary_status status = rotary_threads_start(concurrency, &threads);
    rotary_threads_stop(threads);
    return outcome_of_status(status);
  });
  add("rotary_threads_executor", [concurrency](Attempt& attempt, Sizes) {
    rotary_threads* const threads = concurrency < 0 ? nullptr : started();
    rotary_executor executor = ROTARY_EXECUTOR_INIT;
    const rotary_status status =
        attempt([&] { return rotary_threads_executor(threads, &executor); });
    rotary_threads_stop(threads);
    return outcome_of_status(status);
  });
}

}  // namespace

Calls threads_calls() {
  Calls calls = {{"rotary_threads_last_error", rotary_threads_last_error},
                 {"rotary_threads_stop", [](Attempt& attempt, Sizes) {
                    rotary_threads* const threads = started();
                    return attempt([&] { return (rotary_threads_stop(threads), 0); });
                  }}};
  for (const std::int64_t concurrency : {3, -1}) add_c_functions(calls, concurrency);
  for (const std::int64_t concurrency : {4, 1025}) {
    calls.emplace_back("rotary::Threads::start(", std::to_string(concurrency),
                       [concurrency] { return Threads::start(concurrency); });
  }
  const auto add_with_two = [&](std::string_view symbol, auto use) {
    calls.emplace_back(symbol, [use](Attempt& attempt, Sizes) {
      std::optional<Threads> one(value_of(Threads::start(2)));
      std::optional<Threads> other(value_of(Threads::start(2)));
      return attempt([&] { return use(one, other); });
    });
  };
  add_with_two("rotary::Threads::Threads(rotary::Threads&&)",
               [](auto& one, auto&) { return Threads(*std::move(one)), 0; });
  add_with_two("rotary::Threads::operator=(rotary::Threads&&)",
               [](auto& one, auto& other) { return *one = *std::move(other), 0; });
  add_with_two("rotary::Threads::~Threads()", [](auto& one, auto&) { return one.reset(), 0; });
  add_with_two("rotary::Threads::executor() const",
               [](auto& one, auto&) { return one->executor(); });
  return calls;
}

}  // namespace rotary::test
