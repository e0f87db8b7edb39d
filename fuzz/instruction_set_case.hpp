// SPDX-License-Identifier: Apache-2.0
// An input chooses its instruction set, so all of this machine's have their turn.
#pragma once

#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::fuzz {

inline void use_instruction_set(std::string_view name) {
  if (const auto status = force_instruction_set(name); !status) {
    fail("a supported instruction set must be usable", status.error().message);
  }
}

inline void use_instruction_set(Bytes& input) {
  const auto sets = supported_instruction_sets();
  use_instruction_set(sets[input.byte() % sets.size()]);
}

}  // namespace rotary::fuzz
