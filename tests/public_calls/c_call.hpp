// SPDX-License-Identifier: Apache-2.0
// Calls of the C ABI. A C function that fails also leaves a text, rotary_last_error().
#pragma once

#include <cmath>
#include <memory>

#include "public_calls/call.hpp"
#include "rotary/rotary.h"

namespace rotary::test {

[[nodiscard]] inline Outcome outcome_of_c(rotary_status status) {
  const std::string_view text = rotary_last_error();
  if (status == ROTARY_OK) return {};
  if (text.empty() || (status == ROTARY_OUT_OF_MEMORY) != (text == "out of memory")) {
    throw std::logic_error("a text of another error: " + std::string(text));
  }
  return {.error = static_cast<ErrorCode>(status)};
}

// The outcome of a function whose value reports a failure. rotary_last_error() gives the reason.
[[nodiscard]] inline Outcome outcome_of_value(bool failed) {
  if (!failed) return {};
  const std::string_view text = rotary_last_error();
  const bool memory = text == "out of memory";
  return {.error = memory ? ErrorCode::out_of_memory : ErrorCode::invalid_argument};
}

inline void free_handle(rotary_model* handle) { rotary_model_free(handle); }
inline void free_handle(rotary_frequencies* handle) { rotary_frequencies_free(handle); }
inline void free_handle(rotary_rotations* handle) { rotary_rotations_free(handle); }

// The outcome of a function that makes a handle. make(&handle) returns its status; on success,
// use(handle) returns the outcome.
template <class Handle, class Make, class Use>
[[nodiscard]] Outcome with_made(const Make& make, const Use& use) {
  int none = 0;
  auto* handle = reinterpret_cast<Handle*>(&none);
  const rotary_status status = make(&handle);
  if ((status == ROTARY_OK) == (handle == nullptr)) {
    throw std::logic_error("a handle and a status that do not match");
  }
  const std::unique_ptr<Handle, void (*)(Handle*)> owned(handle, free_handle);
  return status == ROTARY_OK ? use(handle) : outcome_of_c(status);
}
template <class Handle, class Make>
[[nodiscard]] Outcome outcome_of_making(const Make& make) {
  return with_made<Handle>(make, [](Handle*) { return Outcome(); });
}

// outcome_of_making() as a function for Call. make(sizes, &handle) returns the status.
template <class Handle, class Make>
[[nodiscard]] auto making(Make make) {
  return [make](Sizes n) {
    return outcome_of_making<Handle>([&](Handle** out) { return make(n, out); });
  };
}

// Makes a handle for a static variable. It is never freed.
template <class Handle, class Make>
[[nodiscard]] const Handle* made_once(const Make& make) {
  Handle* out = nullptr;
  if (make(&out) != ROTARY_OK) throw std::runtime_error(rotary_last_error());
  return out;
}

// The address of a temporary object, which lives until the call returns.
template <class T>
[[nodiscard]] const T* at(const T& value) {
  return &value;
}

[[nodiscard]] inline rotary_status make_frequencies_of(std::string_view text,
                                                       rotary_frequencies** out) {
  return rotary_frequencies_of_spec(text.data(), text.size(), out);
}

inline constexpr std::string_view spec_of_16 =
    R"({"head_dim": 16, "base": 10000, "pairing": "half"})";

[[nodiscard]] inline const rotary_frequencies* c_frequencies() {
  static const auto* const made = made_once<rotary_frequencies>(
      [](auto** out) { return make_frequencies_of(spec_of_16, out); });
  return made;
}

[[nodiscard]] inline rotary_window c_window() {
  return {sizeof(rotary_window), 16, 16, 0, ROTARY_PAIRING_HALF, 0, 1};
}

[[nodiscard]] inline rotary_heads_view c_view(const Extents& n) {
  const HeadsView view = heads(n);
  const Strides& s = view.strides;
  return {sizeof(rotary_heads_view),
          view.data,
          ROTARY_F32,
          0,
          {n.batch, n.tokens, n.heads, n.features},
          {s.batch, s.token, s.head, s.feature}};
}

// Adds calls for the handle and for NULL, which is an error with a text.
template <class Handle, class Add>
void for_handle_and_null(const Handle* handle, const Add& add_with) {
  add_with(handle, "");
  add_with(static_cast<const Handle*>(nullptr), "NULL");
}

}  // namespace rotary::test
