// SPDX-License-Identifier: Apache-2.0
// Raises the library's errors as rotary.Error, and finds enumerators by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "module/module.hpp"
#include "rotary/result.hpp"

namespace rotary::python {

[[noreturn]] void raise(const Error& error);
[[noreturn]] void raise(std::string message);  // with status invalid_argument

inline void check(const Status& status) {
  if (!status) raise(status.error());
}

// name: the parameter that the caller passed, put before the library's message.
template <class T>
[[nodiscard]] T take(Result<T> result, std::string_view name) {
  if (!result) {
    raise(Error{.code = result.error().code,
                .message = std::string(name) + ": " + result.error().message});
  }
  return *std::move(result);
}

template <class T>
[[nodiscard]] T take(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

// The enumerator that to_string() calls `name`. `what` names the argument in messages.
template <class Enums>
[[nodiscard]] auto named(const Enums& all, std::string_view name, std::string_view what) {
  std::string names;
  for (const auto each : all) {
    if (to_string(each) == name) return each;
    names.append(names.empty() ? "" : ", ").append(to_string(each));
  }
  raise(std::string(what) + " must be one of " + names + ", got '" + std::string(name) + "'");
}

}  // namespace rotary::python
