// SPDX-License-Identifier: Apache-2.0
// The names that configs of models nobody here knows have for the keys that a resolver needs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/json/reader.hpp"

namespace rotary {

// "; in the tool add --key hidden_size=d_model, if ...": of the names in the config that other
// models use for one of `keys`. Empty if the config has none.
[[nodiscard]] std::string other_names_in(const Reader& config,
                                         std::span<const std::string_view> keys);

// The way round one key of an unknown model: the key that it stands for, or null.
[[nodiscard]] std::string way_round(const Reader& config, std::string_view name);

}  // namespace rotary
