// SPDX-License-Identifier: Apache-2.0
// Selects the instruction set of the kernels. The library uses the set named by the environment
// variable ROTARY_INSTRUCTION_SET or, without it, the best set of the machine.
// force_instruction_set() changes the choice.
//
//   *instruction_set();              // "AVX3"
//   force_instruction_set("AVX2");   // as on an older machine
#ifndef ROTARY_INSTRUCTION_SET_HPP
#define ROTARY_INSTRUCTION_SET_HPP

#include <span>
#include <string_view>

#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// The sets that run on this machine, best first, for example "AVX3_BF16", "AVX3", "AVX2", "SSE4",
// "SCALAR". AVX3 is Highway's name for AVX-512; AVX3_BF16 includes AVX512_BF16.
[[nodiscard]] ROTARY_API std::span<const std::string_view> supported_instruction_sets() noexcept;

// The set in use. Error: unsupported, if ROTARY_INSTRUCTION_SET names no supported set.
[[nodiscard]] ROTARY_API Result<std::string_view> instruction_set() noexcept;

// Uses the set with this name from now on, in every thread. Error: unsupported.
[[nodiscard]] ROTARY_API Status force_instruction_set(std::string_view name) noexcept;

// How a decode step prefetches cached keys and values: "pages", which is faster on Zen 4, or
// "lines", with which rotate() also prefetches large tensors. Chosen once, by the environment
// variable ROTARY_KEY_FETCHING or the processor's model; results do not depend on it. Error:
// unsupported, if the variable names neither; attend() then fails, too.
[[nodiscard]] ROTARY_API Result<std::string_view> key_fetching() noexcept;

}  // namespace rotary

#endif  // ROTARY_INSTRUCTION_SET_HPP
