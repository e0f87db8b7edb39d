// SPDX-License-Identifier: Apache-2.0
// The requirements of attend(), checked before it writes anything.
#pragma once

#include <cstddef>
#include <string_view>

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Views the table for the memory checks: sequences become tokens, blocks become features.
[[nodiscard]] ConstHeadsView view_of(const BlockTable& table);

// Checks dtype and extents of scores, given as heads_view() returns them.
[[nodiscard]] Status check_scores(std::string_view name, const ConstHeadsView& scores,
                                  const Extents& wanted);

// Checks the inputs and options.
[[nodiscard]] Status check_read(const AttendCall& call);

// Checks the outputs, which must share no element with other tensors. Requires check_read().
[[nodiscard]] Status check_written(const AttendCall& call);

// Checks AttendOptions::memory for a call that needs this many bytes. Requires check_written().
[[nodiscard]] Status check_memory(const AttendCall& call, std::size_t bytes);

}  // namespace rotary
