// SPDX-License-Identifier: Apache-2.0
#include "rotary/instruction_set.hpp"

#include "c_api/status.hpp"

const char* rotary_instruction_set(void) {
  const auto name = rotary::instruction_set();
  if (name) return name->data();  // a literal, therefore null-terminated
  rotary::c_api::report(name.error());
  return nullptr;
}

rotary_status rotary_force_instruction_set(const char* name) {
  return rotary::c_api::run([&]() -> rotary::Status {
    if (name == nullptr) return rotary::c_api::null_argument("name");
    return rotary::force_instruction_set(name);
  });
}
