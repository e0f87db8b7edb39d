// SPDX-License-Identifier: Apache-2.0
#include "c_api/status.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"

namespace rotary::c_api {
namespace {

// A buffer of fixed size needs no allocation and no destructor at a thread's end.
constinit thread_local std::array<char, 1024> last_error{};

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

rotary_status report(const Error& error) noexcept {
  const std::string_view text = error.message;
  std::size_t length = std::min(text.size(), last_error.size() - 1);
  while (length > 0 && length < text.size() && is_inside_character(text[length])) --length;
  *std::copy_n(text.begin(), length, last_error.begin()) = '\0';
  return static_cast<rotary_status>(error.code);
}

}  // namespace rotary::c_api

uint32_t rotary_abi_version(void) { return ROTARY_ABI_VERSION; }

const char* rotary_version(void) { return ROTARY_VERSION_STRING; }

const char* rotary_status_name(rotary_status status) {
  switch (status) {
    case ROTARY_OK:
      return "ok";
    case ROTARY_INVALID_ARGUMENT:
      return "invalid_argument";
    case ROTARY_MALFORMED_INPUT:
      return "malformed_input";
    case ROTARY_UNSUPPORTED:
      return "unsupported";
    case ROTARY_OUT_OF_MEMORY:
      return "out_of_memory";
    default:
      return "unknown";
  }
}

const char* rotary_last_error(void) { return rotary::c_api::last_error.data(); }

const char* rotary_instruction_set(void) {
  const auto name = rotary::instruction_set();
  if (name) return name->data();  // a literal, so it is null-terminated
  rotary::c_api::report(name.error());
  return nullptr;
}

rotary_status rotary_force_instruction_set(const char* name) {
  return rotary::c_api::run([&]() -> rotary::Status {
    if (name == nullptr) return rotary::c_api::null_argument("name");
    return rotary::force_instruction_set(name);
  });
}
