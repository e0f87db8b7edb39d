// SPDX-License-Identifier: Apache-2.0
// What keys of configs mean, in a sentence each.
#pragma once

#include <string_view>

namespace rotary::cli::explain {

// Of the last name of a path: "rope_scaling.factor" is "factor". Empty for a key that is not known.
[[nodiscard]] std::string_view meaning_of(std::string_view path) noexcept;

}  // namespace rotary::cli::explain
