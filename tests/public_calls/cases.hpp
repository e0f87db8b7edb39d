// SPDX-License-Identifier: Apache-2.0
// Calls of every public function: each topic a file of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "public_calls/case.hpp"

namespace rotary::test {

// function returns a Status or a Result.
template <class Function>
[[nodiscard]] Case case_of(std::string_view symbol, std::string what, Function function,
                           std::vector<std::span<std::byte>> outputs = {}) {
  Case made{.symbol = symbol, .what = std::move(what), .call = {}, .outputs = std::move(outputs)};
  made.call = [function](Attempt& attempt) { return outcome_of(attempt(function)); };
  return made;
}

// For a function that has no error to return, so that it may not allocate.
template <class Function>
[[nodiscard]] Case cannot_fail(std::string_view symbol, Function function) {
  return {.symbol = symbol, .what = {}, .call = [function](Attempt& attempt) {
            return attempt.of_what_cannot_fail(function);
          }};
}

[[nodiscard]] std::vector<Case> model_cases();
[[nodiscard]] std::vector<Case> rotation_cases();
[[nodiscard]] std::vector<Case> cache_cases();
[[nodiscard]] std::vector<Case> attention_cases();
[[nodiscard]] std::vector<Case> relative_cases();
[[nodiscard]] std::vector<Case> absolute_cases();
[[nodiscard]] std::vector<Case> c_cases();
[[nodiscard]] std::vector<Case> core_cases();  // all of these
[[nodiscard]] std::vector<Case> threads_cases();

}  // namespace rotary::test
