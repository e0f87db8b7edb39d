// SPDX-License-Identifier: Apache-2.0
// For messages about a key that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rotary {

// "a, b, c".
[[nodiscard]] std::string join(std::span<const std::string_view> names);

// "; did you mean factor?" when one of the accepted names differs in at most two letters (one
// changed, missing, too many, or exchanged with its neighbour), "" otherwise.
[[nodiscard]] std::string did_you_mean(std::string_view key,
                                       std::span<const std::string_view> accepted);

}  // namespace rotary
