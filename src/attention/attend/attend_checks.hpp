// SPDX-License-Identifier: Apache-2.0
// The requirements of attend(), checked before it writes anything.
#pragma once

#include <cstddef>
#include <string_view>

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Views of heads for the memory checks. Scores: queries become tokens, keys become features. Block
// table: sequences become tokens, blocks become features. Matrix: rows become tokens.
[[nodiscard]] ConstHeadsView view_of(const BlockTable& table);

// Checks dtype and extents of scores, given as a view of heads.
[[nodiscard]] Status check_scores(std::string_view name, const ConstHeadsView& scores,
                                  const Extents& wanted);

// Checks the inputs and options.
[[nodiscard]] Status check_read(const AttendCall& call);

// Checks the outputs: they share no element with any other tensor. Requires check_read().
[[nodiscard]] Status check_written(const AttendCall& call);

// Checks AttendOptions::memory for a call that needs this many bytes. Requires check_written().
[[nodiscard]] Status check_memory(const AttendCall& call, std::size_t bytes);

}  // namespace rotary
