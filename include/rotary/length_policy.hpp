// SPDX-License-Identifier: Apache-2.0
// LengthPolicy: the length of a context that an engine passes to rules that depend on it (dynamic,
// longrope), over the calls of a model one after the other.
//
//   const std::array calls = {std::int64_t{4097}, std::int64_t{101}};  // tokens of two calls
//   length_in_force(LengthPolicy::longest_call, 2048, calls);          // 4097
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// A call has the length of its longest sequence: its last position + 1.
enum class LengthPolicy : std::int32_t {
  // The length of the call itself.
  each_call = 1,
  // The longest call so far, until one is shorter than the trained context: that one has its own.
  kept_above_trained = 2,
  // The last call beyond the trained context; a shorter one changes nothing.
  last_long_call = 3,
  // The longest call so far, for ever.
  longest_call = 4,
  // The longest context that the engine was started for, whatever the calls.
  whole_context = 5,
};

// Every enumerator, in order.
inline constexpr std::array all_length_policies = {
    LengthPolicy::each_call, LengthPolicy::kept_above_trained, LengthPolicy::last_long_call,
    LengthPolicy::longest_call, LengthPolicy::whole_context};

// "each_call", "kept_above_trained", "last_long_call", "longest_call", "whole_context".
[[nodiscard]] ROTARY_API std::string_view to_string(LengthPolicy policy) noexcept;

// The length that is in force in the last of the calls, each >= 1, of a rule that has its first
// effect beyond trained_tokens, >= 1; calls has at least one. At most trained_tokens: the rule has
// none. whole_context takes the longest of all. Error: invalid_argument.
[[nodiscard]] ROTARY_API Result<std::int64_t> length_in_force(
    LengthPolicy policy, std::int64_t trained_tokens, std::span<const std::int64_t> calls) noexcept;

}  // namespace rotary
