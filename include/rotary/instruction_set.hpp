// SPDX-License-Identifier: Apache-2.0
// Selects the instruction set that the kernels use. The best one that the machine supports is
// chosen at first use, unless the environment variable ROTARY_INSTRUCTION_SET, read at first use,
// or force_instruction_set() names another. The library's only other mutable state, key_fetching(),
// is chosen once.
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

// Names of the sets that run on this machine, best first, for example "AVX3_BF16", "AVX3", "AVX2",
// "SSE4", "SCALAR". The names are Highway's: AVX3 is AVX-512, and AVX3_BF16 is AVX3 with the bf16
// conversion of AVX512_BF16.
[[nodiscard]] ROTARY_API std::span<const std::string_view> supported_instruction_sets() noexcept;

// The set in use. Error: unsupported, when ROTARY_INSTRUCTION_SET names none of the above.
[[nodiscard]] ROTARY_API Result<std::string_view> instruction_set() noexcept;

// Uses the set with this name from now on, in every thread. Error: unsupported.
[[nodiscard]] ROTARY_API Status force_instruction_set(std::string_view name) noexcept;

// How a decode step prefetches cached keys and values on this machine. "pages" is faster on Zen 4;
// with "lines", rotate() also prefetches tensors beyond the caches. Chosen by the processor's
// family or, at first use, by the environment variable ROTARY_KEY_FETCHING; no bit depends on it.
// Error: unsupported, if the variable names neither; attend() then fails, too.
[[nodiscard]] ROTARY_API Result<std::string_view> key_fetching() noexcept;

}  // namespace rotary

#endif  // ROTARY_INSTRUCTION_SET_HPP
