// SPDX-License-Identifier: Apache-2.0
// The status of C functions, and the text of rotary_last_error().
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary.h"

namespace rotary::c_api {

// Keeps the message for rotary_last_error(), without an allocation.
rotary_status report(const Error& error) noexcept;

inline rotary_status report(const Status& status) noexcept {
  return status.ok() ? ROTARY_OK : report(status.error());
}

// body returns Status and may throw all that guarded() catches.
template <class Body>
rotary_status run(Body body) noexcept {
  return report(guarded<ModesOfTheCaller>(body));
}

[[nodiscard]] inline Error null_argument(std::string_view name) {
  return invalid_argument(name, " must not be NULL");
}

// The value of a handle. Error: invalid_argument if it is NULL.
template <class Handle>
[[nodiscard]] auto held_by(std::string_view name, Handle* handle)
    -> Result<decltype(std::ref(handle->value))> {
  if (handle == nullptr) return null_argument(name);
  return std::ref(handle->value);
}

// use(values...), or the first error among the values.
template <class Use, class... Values>
[[nodiscard]] auto with(const Use& use, const Result<Values>&... values)
    -> decltype(use(*values...)) {
  const Error* first = nullptr;
  ((first = first == nullptr && !values ? &values.error() : first), ...);
  if (first != nullptr) return *first;
  return use(*values...);
}

// Reports an error if the handle is NULL, for functions that return no status.
[[nodiscard]] inline bool is_given(std::string_view name, const void* handle) noexcept {
  return run([&]() -> Status {
           if (handle == nullptr) return null_argument(name);
           return {};
         }) == ROTARY_OK;
}

// Sets *out to a handle of body's value; body returns a Result.
template <class Handle, class Body>
rotary_status make(Handle** out, Body body) noexcept {
  return run([&]() -> Status {
    if (out == nullptr) return null_argument("out");
    *out = nullptr;
    auto content = body();
    if (!content) return std::move(content).error();
    *out = new Handle{*std::move(content)};
    return {};
  });
}

}  // namespace rotary::c_api
