// SPDX-License-Identifier: Apache-2.0
// Errors as values: a function that can fail returns Status or Result<T>. No function of this
// library throws, prints or aborts. Result has the interface of std::expected.
//
//   const Result<Frequencies> frequencies = make_frequencies(spec);
//   if (!frequencies) return fail(frequencies.error().message);
//   use(*frequencies);
#ifndef ROTARY_RESULT_HPP
#define ROTARY_RESULT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace rotary {

// The kind of failure, for programs.
enum class ErrorCode : std::int32_t {
  invalid_argument = 1,  // the caller's value breaks a stated requirement
  malformed_input = 2,   // a config or file breaks its format
  unsupported = 3,       // valid, but this version or machine cannot do it
  out_of_memory = 4,
};

// message: one sentence with the requirement and what was got.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{…};` is the idiom
  Status(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }

  // Requires !ok().
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

// A value, or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the idiom
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{…};` is the idiom
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Require has_value().
  [[nodiscard]] T& operator*() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] T* operator->() { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const { return std::get_if<0>(&state_); }

  // Requires !has_value().
  [[nodiscard]] const Error& error() const& { return *std::get_if<1>(&state_); }
  [[nodiscard]] Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace rotary

#endif  // ROTARY_RESULT_HPP
