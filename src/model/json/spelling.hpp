// SPDX-License-Identifier: Apache-2.0
// For messages about unknown keys.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rotary {

// "a, b, c".
[[nodiscard]] std::string join(std::span<const std::string_view> names);

// "; did you mean factor?" if an accepted name differs in at most two letters (changed, missing,
// extra, or swapped with a neighbour); otherwise "".
[[nodiscard]] std::string did_you_mean(std::string_view key,
                                       std::span<const std::string_view> accepted);

}  // namespace rotary
