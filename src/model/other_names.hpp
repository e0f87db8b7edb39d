// SPDX-License-Identifier: Apache-2.0
// The names under which configs of unknown models may have the keys that resolve() needs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/json/reader.hpp"

namespace rotary {

// The end of a message: "; in the tool add --key hidden_size=d_model, if ...". Proposes keys of the
// config that other models use as another name for one of `keys`. Empty if there are none.
[[nodiscard]] std::string other_names_in(const Reader& config,
                                         std::span<const std::string_view> keys);

// The end of a message about a key of an unknown model: rename it, or set it to null.
[[nodiscard]] std::string way_round(const Reader& config, std::string_view name);

}  // namespace rotary
