// SPDX-License-Identifier: Apache-2.0
#include "module/errors.hpp"

#include <array>
#include <cstddef>

namespace rotary::python {
namespace {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::malformed_input:
      return "malformed_input";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
  }
  return "unknown";
}

// Parameters that begin a message: the C++ name, then the Python name.
constexpr std::array<std::array<std::string_view, 2>, 8> renamed = {
    {{"context_tokens", "context"},
     {"most_causes", "causes"},
     {"additive_mask", "mask"},
     {"boolean_mask", "mask"},
     {"dst and src ", "out and q "},
     {"dst", "out"},
     {"from and to ", "positions and new_positions "},
     {"src", "q"}}};
constexpr std::string_view tensors = "(tensors in RotationsOptions)";

std::string in_words_of_python(std::string message) {
  for (const auto& [ours, theirs] : renamed) {
    if (!message.starts_with(ours)) continue;
    message.replace(0, ours.size(), theirs);
    break;
  }
  const std::size_t found = message.find(tensors);
  if (found != std::string::npos) message.replace(found, tensors.size(), "(dtype of rotations())");
  return message;
}

}  // namespace

void raise(const Error& error) {
  const std::string message = in_words_of_python(error.message);
  // Python defines the class, so that it has a docstring and can be subclassed.
  const nb::object type = nb::module_::import_("rotary._errors").attr("Error");
  const std::string_view status = name_of(error.code);
  const nb::object value =
      type(nb::str(status.data(), status.size()), nb::str(message.data(), message.size()));
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

void raise(std::string message) {
  raise(Error{.code = ErrorCode::invalid_argument, .message = std::move(message)});
}

}  // namespace rotary::python
